// What opens the gate: tokens for programs, and the devices of one person.

import assert from "node:assert/strict";

import { field, open, say, until } from "../world.mjs";
import { shows, stopButton } from "./look.mjs";
import { ANDROID, PHONE } from "./devices.mjs";

const statusOf = async (world, token) => {
  const headers = { authorization: `Bearer ${token}` };
  return (await fetch(`http://127.0.0.1:${world.port}/api/v1/me`, { headers })).status;
};

export const tokensAndDevices = {
  async tokens(world) {
    const page = await world.page({ permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${world.origin}/settings/access`);
    await page.getByLabel("Token name").fill("the heron counter");
    await page.getByLabel("Permissions").selectOption("read");
    await page.getByLabel("Expiration").selectOption("7");
    await page.getByRole("button", { name: "Create token" }).click();
    const shown = page.getByRole("group", { name: "API token the heron counter" });
    const token = await shown.locator("code").textContent();
    await shown.getByRole("button", { name: "Copy" }).click();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
    assert.equal(await statusOf(world, token), 200);
    await page.reload();
    const row = page
      .getByRole("list", { name: "API tokens" })
      .getByRole("listitem")
      .filter({ hasText: "the heron counter" });
    await row.getByText("Read-only").waitFor();
    assert.equal(await page.getByText(token).count(), 0, "a secret is shown once");
    await row.getByRole("button", { name: "Revoke the heron counter" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke", exact: true }).click();
    await until("it is gone", async () => (await row.count()) === 0);
    assert.equal(await statusOf(world, token), 401);
  },

  async devices_are_named(world) {
    const session = await world.session("Two devices");
    const page = await world.page();
    const phone = await world.page({ width: 390, height: 844, userAgent: ANDROID });
    for (const shown of [page, phone]) await open(shown, world, session);
    await say(phone, "say 3000 of stork pace 15");
    await shows(page, 10, "stork");
    await page.locator(".who", { hasText: `from ${PHONE}` }).waitFor();
    assert.equal(await phone.getByText(`from ${PHONE}`).count(), 0, "one's own device goes without saying");
    await stopButton(phone).click();
    await page.locator("[data-marker=stopped]", { hasText: `Stopped on ${PHONE}` }).waitFor();
    await phone.locator("[data-marker=stopped]", { hasText: "Stopped by you" }).waitFor();
  },

  async a_login_is_ended_from_elsewhere(world) {
    const session = await world.session("Ended elsewhere");
    const page = await world.page();
    const phone = await world.page({ width: 390, height: 844, userAgent: ANDROID });
    await open(phone, world, session);
    await field(phone).fill("half a thought on the phone");
    await phone.evaluate(() => document.activeElement?.blur());
    await page.goto(`${world.origin}/settings/access`);
    const logins = page.getByRole("list", { name: "Signed-in devices" }).getByRole("listitem");
    await logins.filter({ hasText: "This device" }).waitFor();
    // Phones of other scenarios may still be signed in.
    const phones = logins.filter({ hasText: PHONE });
    await phones.first().waitFor();
    for (let left = await phones.count(); left > 0; left = await phones.count()) {
      await phones
        .first()
        .getByRole("button", { name: `Sign out ${PHONE}` })
        .click();
      await until("one less is signed in", async () => (await phones.count()) < left);
    }
    await phone.getByText("Please sign in again. Your draft is saved.").waitFor({ timeout: 20_000 });
    await world.signIn(phone);
    await until(
      "the draft is there",
      async () => (await field(phone).inputValue()) === "half a thought on the phone",
    );
    await page.getByRole("heading", { name: "Access" }).waitFor();
  },
};
