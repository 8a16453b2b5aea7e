// The network goes, silently or not; the browser sleeps; the server is away for long.

import assert from "node:assert/strict";

import { answerOf, field, open, say, until } from "../world.mjs";
import { pause, same, shows, stopButton } from "./look.mjs";

async function cut(world, page, mode, seconds) {
  world.network.set(mode);
  await page.locator(".strip b", { hasText: "Can't reach the server." }).waitFor({ timeout: 30_000 });
  const before = await answerOf(page);
  await pause(seconds * 1_000);
  assert.equal(await answerOf(page), before, "the cut was real");
  world.network.set("pass");
  await page.locator(".strip.ok", { hasText: "nothing missed" }).waitFor({ timeout: 30_000 });
}

const SENT = ["say 3 of rook", "say 3 of jay"];

/** A page that sends two messages to a server that was just killed. */
async function sentInVain(world, session) {
  const page = await world.page();
  await open(page, world, session);
  await until("the session is shown", () => page.getByText("Nothing you write here gets lost.").isVisible());
  await world.kill();
  for (const text of SENT) await say(page, text);
  return page;
}

/** Both, in order, once. */
async function deliveredOnce(world, session) {
  const { turns } = await world.ask("GET", `/sessions/${session}`);
  assert.deepEqual(
    turns.map((turn) => turn.message.text),
    SENT,
  );
}

export const network = {
  async black_hole(world, { full }) {
    const session = await world.session("hole");
    const page = await world.page();
    await open(page, world, session);
    await say(page, `say 9000 of crane pace 15`);
    await shows(page, 20, "crane");
    await cut(world, page, "hole", full ? 40 : 1);
    // Another network: what was open is reset, and comes from another port.
    await cut(world, page, "reset", full ? 10 : 1);
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
    await same(page, world, session);
  },

  async server_away(world, { full }) {
    const session = await world.session("away");
    const page = await sentInVain(world, session);
    await page.locator(".strip").waitFor();
    assert.equal(await page.locator(".said.wait").count(), 2);
    if (full) {
      await page.locator(".strip b", { hasText: "Can't reach the server." }).waitFor({ timeout: 90_000 });
      await pause(60_000);
    }
    await world.serve();
    await shows(page, 3, "jay", 30_000);
    await deliveredOnce(world, session);
    await until("nothing waits", async () => (await page.locator(".said.wait").count()) === 0);
  },

  async outbox_survives_a_reload(world) {
    const session = await world.session("outbox");
    const page = await sentInVain(world, session);
    await page.reload().catch(() => undefined);
    await world.serve();
    await open(page, world, session);
    await shows(page, 3, "jay");
    await deliveredOnce(world, session);
  },

  /** The lid is closed: nothing of the browser runs. */
  async browser_sleeps(world, { full }) {
    const session = await world.session("sleep");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 60000 of owl pace 15");
    await shows(page, 10, "owl");
    for (const seconds of full ? [30, 600] : [5]) {
      const before = await answerOf(page);
      await world.sleep(seconds);
      await until("it goes on", async () => (await answerOf(page)).length > before.length, 60_000);
    }
    await stopButton(page).click({ timeout: 60_000 });
    await page.locator("[data-marker=stopped]").waitFor();
    await same(page, world, session);
  },

  async draft_survives(world) {
    const session = await world.session("draft");
    const page = await world.page();
    await open(page, world, session);
    await field(page).fill("half a thought");
    page.typed.add("half a thought");
    await world.kill();
    await page.reload().catch(() => undefined);
    await world.serve();
    await open(page, world, session);
    await until("the draft is back", async () => (await field(page).inputValue()) === "half a thought");
    await page.getByText("Draft saved").waitFor();
    const phone = await world.page({ width: 390, height: 844 });
    await open(phone, world, session);
    await until("it is on the phone", async () => (await field(phone).inputValue()) === "half a thought");
    await field(phone).fill("half a thought, and the rest");
    page.typed.add("half a thought, and the rest").delete("half a thought");
    await until("it comes back", async () => (await field(page).inputValue()).endsWith("and the rest"));
  },

  /** A file whose upload is cut goes on where it was, also after a reload. */
  async attachment_resumes(world) {
    const session = await world.session("file");
    const page = await world.page();
    await open(page, world, session);
    const buffer = Buffer.alloc(6 * 1024 * 1024, "heron ");
    world.network.delay(20);
    await page
      .locator("input[type=file]")
      .setInputFiles({ name: "birds.txt", mimeType: "text/plain", buffer });
    await page.getByText(/Uploading [1-9]\d?%/).waitFor({ timeout: 30_000 });
    world.network.set("reset");
    await page.reload().catch(() => undefined);
    world.network.delay(0);
    world.network.set("pass");
    await open(page, world, session);
    await page.getByText("Saved", { exact: true }).waitFor({ timeout: 30_000 });
    await say(page, "say 2 of filed");
    await shows(page, 2, "filed");
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    assert.equal(turns[0].message.attachments[0].size_bytes, buffer.length);
    await until("it is shown", () => page.locator(".said .file", { hasText: "birds.txt" }).isVisible());
  },
};
