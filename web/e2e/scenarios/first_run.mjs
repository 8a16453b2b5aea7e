// The first minutes of an owner.

import assert from "node:assert/strict";

import { field, say, until } from "../world.mjs";
import { shows } from "./look.mjs";

const steps = (page) => page.getByRole("region", { name: "Get started" });
const step = (page, title) => steps(page).getByRole("listitem").filter({ hasText: title });
const isDone = (item) => item.and(item.page().locator("[data-done=true]"));

export const firstRun = {
  async first_steps_are_taken(world) {
    await world.prefer({ first_run_done: false });
    const page = await world.page();
    await steps(page).waitFor();
    await isDone(step(page, "Choose a model")).waitFor({ timeout: 30_000 });
    await isDone(step(page, "Set a passkey or password")).waitFor();
    const last = step(page, "Send your first message");
    // In a world that others were in before, something was said already.
    const begin = last.getByRole("button", { name: "Start a session" });
    if (await begin.isVisible()) await begin.click();
    else await page.getByRole("button", { name: "New session" }).click();
    await field(page).waitFor();
    await say(page, "say 3 of linnet");
    await shows(page, 3, "linnet");
    // They are there when one comes back, until all is done.
    await page.goto(world.origin);
    await isDone(last).waitFor();
    await isDone(step(page, "Choose a model")).waitFor({ timeout: 30_000 });
    await steps(page).getByRole("button", { name: "Done" }).click();
    await until("they are gone", async () => (await steps(page).count()) === 0);
    assert.equal((await world.ask("GET", "/me/preferences")).first_run_done, true);
    await page.reload();
    await page.getByRole("heading", { name: "Nothing you write here gets lost." }).waitFor();
    await page.getByRole("button", { name: "Try to break it" }).waitFor();
    assert.equal(await steps(page).count(), 0);
  },

  async first_steps_are_left(world) {
    await world.prefer({ first_run_done: false });
    const page = await world.page({ width: 390, height: 844 });
    await steps(page).waitFor();
    const { top } = await steps(page).evaluate((shown) => shown.getBoundingClientRect());
    assert.ok(top >= 0 && top < 844, "on a phone they stand above the list");
    await steps(page)
      .getByRole("button", { name: /^(Not now|Done)$/ })
      .click();
    await until("they are gone", async () => (await steps(page).count()) === 0);
    assert.equal((await world.ask("GET", "/me/preferences")).first_run_done, true);
    await page.reload();
    await page.getByRole("navigation", { name: "Sessions" }).waitFor();
    assert.equal(await steps(page).count(), 0);
  },
};
