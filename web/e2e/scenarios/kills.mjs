// The server is killed, again and again, wherever it is.

import assert from "node:assert/strict";
import { readdirSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";

import { answerOf, open, say, until, words } from "../world.mjs";
import { markers, same, shows } from "./look.mjs";

/** What is going on when the kill comes. */
const MOMENTS = [
  ["text", (tag) => `say 120 of ${tag} pace 8`],
  ["reasoning", (tag) => `say 40 of ${tag} pace 8 think 120`],
  ["after a tool", (tag) => `say 120 of ${tag} pace 8 call`],
];

/** How much of the newest turn is there, reasoning and all. */
function sizeOf(page) {
  return page.evaluate(() => {
    const turn = [...document.querySelectorAll("article[data-turn]")].at(-1);
    return turn?.querySelector(".parts")?.textContent.length ?? 0;
  });
}

async function killed(world, page, round, moment, { twice = false } = {}) {
  const [name, message] = moment;
  const tag = `tern${round}`;
  const session = await world.session(`killed in ${name}, ${round}`);
  await open(page, world, session);
  await say(page, message(tag));
  const size = 60 + Math.floor(Math.random() * 500);
  await until(`${size} letters are there`, async () => (await sizeOf(page)) > size);
  await world.kill();
  const before = words(await answerOf(page));
  if (twice) {
    await world.serve();
    await world.kill();
  }
  await world.serve();
  const count = /say (\d+)/.exec(message(tag))[1];
  await shows(page, count, tag, 30_000);
  await same(page, world, session);
  const after = words(await answerOf(page));
  // The last word may have been half of one.
  assert.ok(after.startsWith(before.split(" ").slice(0, -1).join(" ")), "what was seen is where it was");
  const told = await markers(page);
  // The second run may have brought something before it was killed too.
  assert.ok(told.length <= (twice ? 2 : 1), `one marker a cut, not ${told}`);
  const doubled = await page.locator("[data-marker] + [data-marker]").count();
  assert.equal(doubled, 0, "one marker where it was cut, not two");
  assert.ok(!told.includes("recovering"), "nothing is left half told");
}

export const kills = {
  async kill_mid_answer(world, { full }) {
    for (let round = 0; round < (full ? 50 : 5); round += 1) {
      const page = await world.page();
      await killed(world, page, round, MOMENTS[round % MOMENTS.length]);
      assert.deepEqual(await world.verdict(), []);
    }
  },

  async kill_during_recovery(world, { full }) {
    for (let round = 0; round < (full ? 10 : 1); round += 1) {
      const page = await world.page();
      await killed(world, page, 100 + round, MOMENTS[round % MOMENTS.length], { twice: true });
      assert.deepEqual(await world.verdict(), []);
    }
  },

  /** A disk that lied: the end of what was written is gone, and the page has seen it. */
  async torn_journal(world) {
    const session = await world.session("torn");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 5 of before");
    await shows(page, 5, "before");
    await say(page, "say 3000 of torn pace 5");
    await shows(page, 60, "torn");
    await world.kill();
    const seen = words(await answerOf(page));
    const log = readdirSync(join(world.home, "data")).find((name) => name.endsWith("everturn.db-wal"));
    const path = join(world.home, "data", log);
    truncateSync(path, statSync(path).size - 9_000);
    await world.serve();
    await until(
      "the page is live again",
      async () => (await answerOf(page)).length > seen.length + 50,
      30_000,
    );
    await until("what was lost is told", () => page.getByText("Seen on this device.").isVisible());
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-marker=stopped]").waitFor();
    await same(page, world, session);
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    assert.equal(turns.length, 2, "everything before is there");
  },
};
