// An owner tries to break it, with what the page offers for that.

import assert from "node:assert/strict";

import { answerOf, until, words } from "../world.mjs";
import { knots, markers, same, stopButton } from "./look.mjs";

const panel = (page) => page.getByRole("region", { name: "Try to break it" });
const STORY =
  "The keeper wrote down every ship that came by night, its lamps and its course, and none was missing. ";

/** What is told afterwards, as soon as it is: the words before and after. */
async function outcome(page) {
  const told = panel(page).getByText(/^Back\. .* The agent keeps writing\.$/);
  await told.waitFor({ timeout: 40_000 });
  const [before, after] = (await told.textContent()).match(/\d+/g).map(Number);
  return { before, after };
}

async function longer(page, count) {
  await until(
    `${count} words are there`,
    async () => words(await answerOf(page)).split(" ").length > count,
    30_000,
  );
}

export const breakIt = {
  async try_to_break_it(world) {
    world.reciter.texts.set("story", STORY.repeat(200));
    await world.ask("PUT", "/models/default", { name: "reciting" });
    try {
      const page = await world.page();
      await page.getByRole("button", { name: "Try to break it" }).click();
      await panel(page).waitFor();
      const session = /\/s\/([^/?]+)/.exec(page.url())[1];
      const { title, tags } = await world.ask("GET", `/sessions/${session}`);
      assert.deepEqual({ title, tags }, { title: "Try to break it", tags: ["scratch"] });
      await longer(page, 20);

      await panel(page).getByRole("button", { name: "Disconnect this page for 10 s" }).click();
      await page.locator(".strip b", { hasText: "Can't reach the server." }).waitFor();
      const cut = await answerOf(page);
      // Asking at once does not help: it is held.
      await page.getByRole("button", { name: "Try now" }).click();
      const one = await outcome(page);
      assert.ok((await answerOf(page)).startsWith(cut), "what was seen is where it was");
      assert.ok(one.before > 10);
      assert.equal(one.after, one.before);

      await longer(page, words(await answerOf(page)).split(" ").length + 10);
      await panel(page).getByRole("button", { name: "Crash the answer" }).click();
      await page.locator(".parts [data-cut=interrupted]").waitFor({ timeout: 30_000 });
      const two = await outcome(page);
      assert.ok(two.before > one.before);
      assert.equal(two.after, two.before);

      await stopButton(page).click();
      await page.locator("[data-marker=stopped]").waitFor();
      assert.deepEqual(await markers(page), ["stopped"]);
      assert.deepEqual(
        (await knots(page)).map(({ kind }) => kind),
        ["interrupted"],
      );
      await same(page, world, session);
    } finally {
      await world.ask("PUT", "/models/default", { name: "scripted" });
    }
  },

  async only_scratch_can_be_broken(world) {
    const session = await world.session("Not to be broken");
    await world.ask("POST", `/sessions/${session}/messages`, { text: "say 2000 of smew pace 15" });
    await assert.rejects(world.ask("POST", `/sessions/${session}/break`), /409.*not_scratch/s);
    const page = await world.page();
    await page.goto(`${world.origin}/s/${session}`);
    await stopButton(page).waitFor();
    assert.equal(await panel(page).count(), 0);
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
  },
};
