// Passkeys: made under settings, used to sign in when asked and when the browser offers them, removed.

import assert from "node:assert/strict";

import { reloads, until } from "../world.mjs";
import { Authenticator } from "../world/authenticator.mjs";

/** Passkeys belong to a name, not to an address of numbers. */
const named = (world) => world.origin.replace("127.0.0.1", "localhost");

const sessions = (page) => page.getByRole("navigation", { name: "Sessions" });
const passkeyButton = (page) => page.getByRole("button", { name: "Sign in with a passkey" });
const row = (page, name) =>
  page.getByRole("list", { name: "Passkeys" }).getByRole("listitem").filter({ hasText: name });

/** A browser that offers no passkeys among the names that it fills in. */
const offersNone = (context) =>
  context.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  });

async function make(page, world, name) {
  await page.goto(`${named(world)}/settings/access`);
  await page.getByLabel("Passkey name").fill(name);
  await page.getByRole("button", { name: "Add passkey" }).click();
  await row(page, name).waitFor();
}

async function signOut(page) {
  await reloads(page, () => page.getByRole("button", { name: "Sign out", exact: true }).click());
  await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
}

async function remove(page, name) {
  await row(page, name)
    .getByRole("button", { name: `Remove ${name}` })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
  await until("it is gone", async () => (await row(page, name).count()) === 0);
}

export const passkeys = {
  async passkey_when_asked(world) {
    const page = await world.visit({ origin: named(world), prepare: offersNone });
    const device = await Authenticator.plug(page);
    await world.signIn(page);
    await sessions(page).waitFor();
    await make(page, world, "Key of the heron");
    assert.equal(await device.count(), 1);
    await signOut(page);
    await page.getByText("Please sign in.").waitFor();
    await passkeyButton(page).click();
    await sessions(page).waitFor();
    await page.goto(`${named(world)}/settings/access`);
    await row(page, "Key of the heron").getByText(/used/).waitFor();
    await remove(page, "Key of the heron");
    await signOut(page);
    await passkeyButton(page).click();
    await page.getByRole("alert").waitFor();
    assert.equal(await sessions(page).count(), 0, "what was removed opens nothing");
  },

  async passkey_when_offered(world) {
    const page = await world.visit({ origin: named(world) });
    const device = await Authenticator.plug(page);
    await world.signIn(page);
    await sessions(page).waitFor();
    await make(page, world, "Key of the tern");
    await device.present(false);
    await signOut(page);
    // With its owner there, the device answers what the browser offers: nothing was typed, nothing was pressed.
    await device.present(true);
    await page.reload();
    await sessions(page).waitFor();
    await page.goto(`${named(world)}/settings/access`);
    await remove(page, "Key of the tern");
  },
};
