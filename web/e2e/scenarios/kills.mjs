// The server is killed, again and again, wherever it is.

import assert from "node:assert/strict";
import { cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

import { answerOf, open, say, until, words } from "../world.mjs";
import { knots, markers, same, shows } from "./look.mjs";

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

/** The model of most providers: it takes no prefix, and is asked to continue. It repeats, apologizes and begins new lines. */
const ASKED = "asked";

async function killed(world, page, round, moment, { twice = false, asked = false } = {}) {
  const [name, message] = moment;
  const tag = `tern${round}`;
  const session = await world.session(`killed in ${name}, ${round}`);
  await open(page, world, session);
  if (asked) {
    const text = `${message(tag)} loose`;
    await world.ask("POST", `/sessions/${session}/messages`, { text, model: ASKED });
  } else await say(page, message(tag));
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
  assert.deepEqual(await markers(page), [], "a continued answer has no marker");
  const told = (await knots(page)).map(({ kind }) => kind);
  // The second run may have brought something before it was killed too.
  assert.ok(told.length <= (twice ? 2 : 1), `one knot a cut, not ${told}`);
  assert.ok(!told.includes("recovering"), "nothing is left half told");
}

export const kills = {
  async kill_mid_answer(world, { full }) {
    const url = `http://127.0.0.1:${world.modelPort}/v1`;
    const model = { provider: "openai", url, model: "scripted", takes_prefix: false };
    await world.ask("PUT", `/models/${ASKED}`, model);
    for (let round = 0; round < (full ? 50 : 6); round += 1) {
      const page = await world.page();
      // Half of them by a model that is asked to continue.
      await killed(world, page, round, MOMENTS[round % MOMENTS.length], { asked: round % 2 === 1 });
      assert.deepEqual(await world.verdict(), []);
    }
    await world.ask("DELETE", `/models/${ASKED}`);
  },

  /** The spool is out of reach when the server starts, and comes back: the open tab settles without a reload. */
  async healing_settles_in_an_open_tab(world, { full }) {
    const session = await world.session("out of reach");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 400 of heal pace 15");
    await shows(page, 40, "heal");
    await world.kill();
    const [spool, hidden, other] = ["spool", "spool-hidden", "spool-other"].map((name) =>
      join(world.home, "data", name),
    );
    renameSync(spool, hidden);
    await world.serve();
    await page.locator("[data-marker=recovering]").waitFor({ timeout: 30_000 });
    renameSync(spool, other);
    renameSync(hidden, spool);
    const settled = async () => (await page.locator("[data-marker=recovering]").count()) === 0;
    await until("the tab settles by itself", settled, full ? 5_000 : 10_000);
    await shows(page, 400, "heal", 30_000);
    await same(page, world, session);
  },

  async kill_during_recovery(world, { full }) {
    for (let round = 0; round < (full ? 10 : 1); round += 1) {
      const page = await world.page();
      await killed(world, page, 100 + round, MOMENTS[round % MOMENTS.length], { twice: true });
      assert.deepEqual(await world.verdict(), []);
    }
  },

  /** The server restarts on an older copy of its data, without the last entries that the page showed. */
  async older_data(world) {
    const session = await world.session("torn");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 5 of before");
    await shows(page, 5, "before");
    await say(page, "say 3000 of torn pace 5");
    await shows(page, 60, "torn");
    await world.kill();
    const [data, copy] = [join(world.home, "data"), join(world.home, "copy")];
    cpSync(data, copy, { recursive: true });
    const copied = (await answerOf(page)).length;
    await world.serve();
    await until("more is shown", async () => (await answerOf(page)).length > copied + 100, 30_000);
    await world.kill();
    const seen = words(await answerOf(page));
    rmSync(data, { recursive: true });
    renameSync(copy, data);
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
