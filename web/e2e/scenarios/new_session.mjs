// A new session exists when its first message is sent, and not before.

import assert from "node:assert/strict";

import { field, open, say, until } from "../world.mjs";
import { messages, shows, stopButton } from "./look.mjs";

const plus = (page) => page.getByRole("button", { name: "New session" });
const idOf = (page) => /\/s\/([^/?]+)/.exec(page.url())?.[1];
const V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Starts a session in a page and returns its id. */
async function start(page) {
  const before = idOf(page);
  await plus(page).click();
  await until("a new session is shown", () => idOf(page) !== undefined && idOf(page) !== before);
  await field(page).waitFor();
  assert.match(idOf(page), V7);
  return idOf(page);
}

async function isOnServer(world, session) {
  try {
    await world.ask("GET", `/sessions/${session}`);
    return true;
  } catch {
    return false;
  }
}

async function sentOnce(world, session, texts) {
  const { turns, queue } = await world.ask("GET", `/sessions/${session}`);
  assert.deepEqual(
    [...turns, ...queue].map(({ message }) => message.text),
    texts,
  );
}

export const newSession = {
  async plus_leaves_nothing(world) {
    const other = await world.session("somewhere else");
    const page = await world.page();
    await open(page, world, other);
    const { active } = await world.ask("GET", "/sessions/counts");
    const ids = [await start(page)];
    for (let times = 0; times < 2; times += 1) await plus(page).click();
    assert.equal(idOf(page), ids[0], "a blank session is as good as another");
    await page.goto(world.origin);
    ids.push(await start(page));
    await page.goto(world.origin);
    await plus(page).waitFor();
    await page.keyboard.press("Control+Shift+O");
    await until("another is shown", () => idOf(page) !== undefined);
    ids.push(idOf(page));
    await page.getByRole("heading", { name: "Nothing you write here gets lost." }).waitFor();
    // What is typed stays on this device, and is found again.
    page.typed.add("half a thought of plovers");
    await field(page).fill("half a thought of plovers");
    await page.getByText("Draft saved on this device").waitFor();
    await page.locator(`[data-session="${other}"] a`).click();
    await until("the other is shown", () => idOf(page) === other);
    await page.getByRole("link", { name: /^half a thought of plovers/ }).click();
    await until("the draft is back", async () =>
      (await field(page).inputValue()).endsWith("thought of plovers"),
    );
    await page.reload();
    await until("it is back", async () => (await field(page).inputValue()).endsWith("thought of plovers"));
    assert.equal((await world.ask("GET", "/sessions/counts")).active, active, "the server has no more");
    for (const id of ids) assert.equal(await isOnServer(world, id), false);
    // Sent, it is a session like any other.
    await say(page, "say 2 of plover");
    page.typed.delete("half a thought of plovers");
    await shows(page, 2, "plover");
    assert.equal(idOf(page), ids.at(-1));
    await sentOnce(world, ids.at(-1), ["say 2 of plover"]);
    await page.getByRole("button", { name: "History" }).waitFor();
  },

  async new_session_offline(world) {
    const other = await world.session("left offline");
    const page = await world.page();
    await open(page, world, other);
    await until("the session is shown", () =>
      page.getByText("Nothing you write here gets lost.").isVisible(),
    );
    await world.kill();
    await page.locator(".strip", { hasText: "Can't reach the server." }).waitFor();
    const session = await start(page);
    const sent = ["say 3 of godwit", "say 3 of curlew"];
    for (const text of sent) await say(page, text);
    assert.equal(await page.locator(".said.wait").count(), 2);
    // Whoever goes elsewhere finds it again.
    await page.locator(`[data-session="${other}"] a`).click();
    await until("the other is shown", () => idOf(page) === other);
    await page.getByRole("link", { name: "say 3 of godwit Not sent yet" }).click();
    await until("it is shown", async () => (await page.locator(".said.wait").count()) === 2);
    await world.serve();
    await shows(page, 3, "curlew", 30_000);
    assert.equal(idOf(page), session);
    await sentOnce(world, session, sent);
    await until("nothing waits", async () => (await page.locator(".said.wait").count()) === 0);
    assert.deepEqual(await messages(page), sent);
    await page.locator(`[data-session="${session}"]`).waitFor();
    assert.equal(await page.getByText("Not sent yet").count(), 0);
  },

  async new_session_offline_survives_a_reload(world) {
    const page = await world.page();
    await world.kill();
    const session = await start(page);
    await say(page, "say 3 of sanderling");
    assert.equal(await page.locator(".said.wait").count(), 1);
    await page.reload().catch(() => undefined);
    await world.serve();
    await open(page, world, session);
    await shows(page, 3, "sanderling", 30_000);
    await sentOnce(world, session, ["say 3 of sanderling"]);
    await page.reload();
    await shows(page, 3, "sanderling");
    await sentOnce(world, session, ["say 3 of sanderling"]);
  },

  /** A session is called by its first message until it has a better name. */
  async stopped_session_has_a_title(world) {
    const page = await world.page();
    const session = await start(page);
    await say(page, "say 9000 of whimbrel pace 10\nand a second line");
    await shows(page, 3, "whimbrel");
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
    const row = page.locator(`[data-session="${session}"] .t`);
    await until("it has its title", async () => (await row.textContent()) === "say 9000 of whimbrel pace 10");
  },
};
