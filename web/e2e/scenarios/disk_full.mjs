// The disk of the server is full: it pauses, says so in red, and goes on when there is room. In a world of its own, on a
// disk of its own.

import assert from "node:assert/strict";

import { World, answerOf, open, say, until } from "../world.mjs";
import { same, shows } from "./look.mjs";

/** The server leaves so many megabytes of any disk alone. */
const RESERVE = 256;

const strip = (page) => page.getByRole("alert").filter({ hasText: "The server's disk is full" });

async function filled(own) {
  const session = await own.session("A full disk");
  const page = await own.page();
  const phone = await own.page({ width: 320, height: 568 });
  await open(page, own, session);
  await say(page, "say 2000 of merlin pace 10");
  await shows(page, 20, "merlin");
  own.disk.fill(RESERVE - 16);
  await strip(page).waitFor({ timeout: 30_000 });
  await strip(page).getByText("Everything written so far is safe.").waitFor();
  // Also where the list alone is shown, and on a page that is opened only now.
  await strip(phone).waitFor();
  assert.ok(await phone.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth));
  const late = await own.page();
  await strip(late).waitFor();
  const held = await answerOf(page);
  assert.ok(!held.includes("merlin.2000"), "it paused in mid-answer");
  own.disk.empty();
  for (const shown of [page, phone, late])
    await until("the strip is gone", async () => (await strip(shown).count()) === 0, 30_000);
  await shows(page, 2_000, "merlin", 90_000);
  await same(page, own, session);
  assert.ok((await answerOf(page)).startsWith(held), "what was seen is where it was");
}

export const diskFull = {
  async disk_full() {
    const own = await World.make({ disk: RESERVE + 64 });
    try {
      await filled(own);
      const wrong = await own.verdict();
      assert.deepEqual(wrong, []);
    } finally {
      await own.end();
    }
  },
};
