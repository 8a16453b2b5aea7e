// Signing in by way of a provider of identities: a real one, with its own pages.

import assert from "node:assert/strict";

import { ACCOUNT, CLIENT, OpenIdProvider } from "../world/openid.mjs";

const button = (page) => page.getByRole("link", { name: "Sign in with The house" });

/** The provider's own pages: a name, any password, and consent. */
async function agree(page) {
  await page.locator("input[name=login]").fill(ACCOUNT.login);
  await page.locator("input[name=password]").fill("whatever");
  await page.locator("button[type=submit]").click();
  await page.getByRole("button", { name: "Continue" }).click();
}

/** With a provider that the server knows, for as long as `act` takes. */
async function provided(world, change, act) {
  const provider = await OpenIdProvider.start(`${world.origin}/api/v1/login/openid/house/return`);
  try {
    const config = [change(provider.config())];
    await world.reconfigure({ config, environment: { OPENID_SECRET: CLIENT.secret } });
    // The pages of the provider ask for a font elsewhere.
    await act(await world.visit({ also: [provider.issuer, "https://fonts.googleapis.com"] }));
  } finally {
    await provider.stop();
    await world.reconfigure();
  }
}

export const openid = {
  async openid_lets_in(world) {
    await provided(
      world,
      (config) => config,
      async (page) => {
        await page.goto(`${world.origin}/settings/access`);
        await button(page).click();
        await agree(page);
        await page.getByRole("heading", { name: "Access" }).waitFor();
        assert.equal(new URL(page.url()).pathname, "/settings/access", "back where it was");
        const { users } = await world.ask("GET", "/users");
        const ann = users.find(({ name }) => name === ACCOUNT.login);
        assert.equal(ann?.role, "member");
        // Somebody who came this way is a person like others, and can be shut out.
        await world.ask("PATCH", `/users/${ann.user}`, { disabled: true });
        await page.getByText("Please sign in again. Your draft is saved.").waitFor({ timeout: 20_000 });
        await button(page).click();
        await page.getByRole("alert").filter({ hasText: "Your account is disabled." }).waitFor();
        await world.ask("PATCH", `/users/${ann.user}`, { disabled: false });
      },
    );
  },

  async openid_refuses(world) {
    await provided(
      world,
      (config) => config.replace("*@example.org", "bob@example.org"),
      async (page) => {
        await button(page).click();
        await agree(page);
        await page
          .getByRole("alert")
          .filter({ hasText: "That account has no access to this server." })
          .waitFor();
        assert.equal(await page.getByRole("navigation", { name: "Sessions" }).count(), 0);
      },
    );
  },
};
