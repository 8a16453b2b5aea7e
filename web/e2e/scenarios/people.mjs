// Several people on one server: each sees their own, and whoever is shut out is out at once.

import assert from "node:assert/strict";

import { field, open, until } from "../world.mjs";
import { shows } from "./look.mjs";

const MEMBER = { name: "robin", password: "a robin sits on the fence" };

export const people = {
  async people_have_their_own(world) {
    const theirs = await world.session("The owner's own herons");
    const owner = await world.page();
    await owner.goto(`${world.origin}/settings/people`);
    await owner.getByLabel("Name", { exact: true }).fill(MEMBER.name);
    await owner.getByLabel("Temporary password").fill(MEMBER.password);
    await owner.getByRole("button", { name: "Add user", exact: true }).click();
    const robin = owner.getByRole("group", { name: MEMBER.name });
    await robin.waitFor();

    const page = await world.page({ who: MEMBER });
    await page.getByRole("button", { name: "New session" }).click();
    await field(page).fill("say 3 of wren");
    await field(page).press("Enter");
    await shows(page, 3, "wren");
    const own = /\/s\/([^/?]+)/.exec(page.url())[1];
    assert.equal(await page.getByText("The owner's own herons").count(), 0, "the list is the member's own");
    await page.goto(`${world.origin}/s/${theirs}`);
    await page.getByRole("heading", { name: "Session not found" }).waitFor();
    await page.goto(`${world.origin}/settings`);
    await page.getByRole("navigation", { name: "Settings" }).waitFor();
    assert.equal(await page.getByRole("link", { name: /^(People|Data)/ }).count(), 0, "no pages of owners");

    await open(page, world, own);
    await robin.getByRole("button", { name: "Disable" }).click();
    await owner.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await robin.locator(".badge.warn", { hasText: "Disabled" }).waitFor();
    await page.getByText("Please sign in again. Your draft is saved.").waitFor({ timeout: 20_000 });
    await world.signIn(page, MEMBER);
    await page.getByRole("alert").waitFor();

    await robin.getByRole("button", { name: "Enable" }).click();
    await until(
      "robin is let in",
      async () => (await robin.getByRole("button", { name: "Enable" }).count()) === 0,
    );
    await world.signIn(page, MEMBER);
    await field(page).waitFor();
    await shows(page, 3, "wren");
    const trail = owner.getByRole("list", { name: "Audit log" });
    await owner.reload();
    await trail.getByText(`User added: ${MEMBER.name}`).first().waitFor();
  },
};
