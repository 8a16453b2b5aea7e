// What must hold in a real browser, whatever happens to the server, the network and the tab.

import assert from "node:assert/strict";

import { answerOf, field, foldOf, open, say, until, words } from "./world.mjs";

async function shows(page, count, tag) {
  await until(`${tag}.${count} is shown`, async () => (await answerOf(page)).includes(`${tag}.${count}`));
}

/** What is seen is what the server's fold says, to the word. */
async function same(page, world, session) {
  await until("what is seen is the server's fold", async () => {
    const [seen, fold] = [await answerOf(page), await foldOf(world, session)];
    return words(seen) === words(fold) && seen !== "";
  });
}

export const scenarios = {
  async conversation(world) {
    const page = await world.page();
    await page.getByRole("button", { name: "New session" }).click();
    await field(page).waitFor();
    await say(page, "say 30 of wren pace 5 think 5");
    await shows(page, 30, "wren");
    const session = page.url().split("/").at(-1);
    await same(page, world, session);
    assert.equal(await field(page).inputValue(), "");
  },

  async kill_mid_answer(world, { full }) {
    for (let round = 0; round < (full ? 50 : 3); round += 1) {
      const session = await world.session(`kill ${round}`);
      const page = await world.page();
      await open(page, world, session);
      await say(page, `say 150 of tern${round} pace 8`);
      await shows(page, 10 + Math.floor(Math.random() * 60), `tern${round}`);
      await world.kill();
      const before = words(await answerOf(page));
      await world.serve();
      await shows(page, 150, `tern${round}`);
      await same(page, world, session);
      assert.ok(words(await answerOf(page)).startsWith(before.split(" ").slice(0, -1).join(" ")));
      assert.deepEqual(await world.verdict(), []);
    }
  },

  async stop_keeps_all(world) {
    const session = await world.session("stop");
    const [page, other] = [await world.page(), await world.page({ width: 390, height: 844 })];
    await open(page, world, session);
    await open(other, world, session);
    await say(page, "say 400 of ibis pace 10 think 20");
    await shows(page, 20, "ibis");
    await other.getByRole("button", { name: "Stop" }).click();
    for (const seen of [page, other]) await seen.locator("[data-marker=stopped]").waitFor();
    await same(page, world, session);
    await same(other, world, session);
    assert.equal(await page.locator("[data-marker]").count(), 1);
    await page.getByRole("button", { name: "Continue" }).click();
    await shows(page, 400, "ibis");
  },

  async black_hole(world, { full }) {
    const session = await world.session("hole");
    const page = await world.page();
    await open(page, world, session);
    await say(page, `say 4000 of crane pace 15`);
    await shows(page, 20, "crane");
    world.network.set("hole");
    await page.locator(".strip b", { hasText: "Reconnecting." }).waitFor({ timeout: 30_000 });
    const before = await answerOf(page);
    await new Promise((resolve) => setTimeout(resolve, full ? 40_000 : 1_000));
    assert.equal(await answerOf(page), before, "the cut was real");
    world.network.set("pass");
    await page.locator(".strip.ok", { hasText: "nothing missed" }).waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-marker=stopped]").waitFor();
    await same(page, world, session);
  },

  async outbox_while_down(world) {
    const session = await world.session("outbox");
    const page = await world.page();
    await open(page, world, session);
    await until("the session is shown", () => page.getByText("Nothing written here gets lost.").isVisible());
    await world.kill();
    await say(page, "say 3 of rook");
    await say(page, "say 3 of jay");
    assert.equal(await page.locator(".said.wait").count(), 2);
    await page.reload().catch(() => undefined);
    await world.serve();
    await open(page, world, session);
    await shows(page, 3, "jay");
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    assert.deepEqual(
      turns.map((turn) => turn.message.text),
      ["say 3 of rook", "say 3 of jay"],
    );
    await until("nothing waits", async () => (await page.locator(".said.wait").count()) === 0);
  },

  async queue_and_reload(world) {
    const session = await world.session("queue");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 300 of duck pace 10");
    await shows(page, 5, "duck");
    for (const text of ["say 2 of one", "say 2 of two", "say 2 of three"]) await say(page, text);
    const tray = page.getByRole("list", { name: "Waiting messages" });
    await until("three wait", async () => (await tray.getByRole("listitem").count()) === 3);
    await tray.getByRole("listitem").nth(1).getByRole("button", { name: "Remove" }).click();
    await until("two wait", async () => (await tray.getByRole("listitem").count()) === 2);
    await page.reload();
    await until("two still wait", async () => (await tray.getByRole("listitem").count()) === 2);
    await page.getByRole("button", { name: "Stop" }).click();
    await shows(page, 2, "three");
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    assert.deepEqual(
      turns.map((turn) => turn.message.text),
      ["say 300 of duck pace 10", "say 2 of one", "say 2 of three"],
    );
  },

  async reload_mid_token(world, { full }) {
    const session = await world.session("reload");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 300 of gull pace 10");
    for (let round = 0; round < (full ? 20 : 4); round += 1) {
      await shows(page, 5 + round * 10, "gull");
      await page.reload();
    }
    await shows(page, 300, "gull");
    await same(page, world, session);
  },

  async draft_survives(world) {
    const session = await world.session("draft");
    const page = await world.page();
    await open(page, world, session);
    await field(page).fill("half a thought");
    await world.kill();
    await page.reload().catch(() => undefined);
    await world.serve();
    await open(page, world, session);
    await until("the draft is back", async () => (await field(page).inputValue()) === "half a thought");
  },

  async left_behind(world) {
    const session = await world.session("left");
    const page = await world.page();
    await open(page, world, session);
    await page.getByRole("button", { name: "New session" }).click();
    await until(
      "another session is shown",
      () => !page.url().includes(session) && page.url().includes("/s/"),
    );
    const made = page.url().split("/").at(-1);
    const response = await fetch(`http://127.0.0.1:${world.port}/api/v1/sessions/${made}/events?after=0`, {
      headers: { authorization: `Bearer ${world.token}` },
    });
    const reader = response.body.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    assert.ok(
      new TextDecoder().decode(value).includes(`"after":"${session}"`),
      "the server knows what was left",
    );
  },
};
