// The same without a mouse.

import assert from "node:assert/strict";

import { answerOf, open, until } from "../world.mjs";
import { markers, messages, shows, tray } from "./look.mjs";

/** Types where the focus is. */
async function type(page, text, press = "Enter") {
  await page.keyboard.insertText(text);
  await page.keyboard.press(press);
}

/** What the screen reader was told so far. */
const heard = (page) => page.evaluate(() => window.heard ?? []);

async function listen(page) {
  await page.evaluate(() => {
    window.heard = [];
    const status = document.querySelector("[role=status]");
    new MutationObserver(() => window.heard.push(status.textContent)).observe(status, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
}

export const keyboard = {
  async keyboard_stop(world) {
    const session = await world.session("keys stop");
    const page = await world.page({ reducedMotion: "reduce" });
    await open(page, world, session);
    await listen(page);
    await type(page, "say 3000 of coot pace 10 think 10");
    await shows(page, 10, "coot");
    await until("it is told", async () => (await heard(page)).join(" ").includes("Agent is writing."));
    const moving = await page.evaluate(
      () => document.getAnimations().filter((animation) => animation.playState === "running").length,
    );
    assert.equal(moving, 0, "nothing moves when motion is not wanted");
    await page.keyboard.press("Escape");
    await page.getByText("Press Esc again to stop").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("[data-marker=stopped]").waitFor();
    assert.deepEqual(await markers(page), ["stopped"]);
    await until("it was told", async () => (await heard(page)).join(" ").includes("Everything is kept."));
    const told = (await heard(page)).join(" ");
    assert.ok(!/coot\.\d|thought\.\d/.test(told), "events, never tokens");
  },

  async keyboard_queue(world) {
    const session = await world.session("keys queue");
    const page = await world.page();
    await open(page, world, session);
    await type(page, "say 3000 of rail pace 10");
    await shows(page, 5, "rail");
    await type(page, "say 2 of first");
    await type(page, "say 2 of second");
    await until("two wait", async () => (await tray(page).getByRole("listitem").count()) === 2);
    // Back from the field through the tray: Remove, Edit, Steer now of the second.
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await until("one waits", async () => (await tray(page).getByRole("listitem").count()) === 1);
    await page.keyboard.press("F6");
    await page.keyboard.press("Control+.");
    await page.getByText("Queue paused · 1 queued", { exact: true }).waitFor();
    // Back to the field, then through the tray: Remove, Edit, Clear, Resume.
    await page.keyboard.press("Shift+F6");
    for (let times = 0; times < 4; times += 1) await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await shows(page, 2, "first");
    assert.deepEqual(await messages(page), ["say 3000 of rail pace 10", "say 2 of first"]);
  },

  async keyboard_versions(world) {
    const session = await world.session("keys versions");
    const page = await world.page();
    await open(page, world, session);
    await type(page, "say 3 of plover");
    await shows(page, 3, "plover");
    const region = () => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
    for (let tries = 0; tries < 3 && (await region()) !== "Conversation"; tries += 1)
      await page.keyboard.press("F6");
    assert.equal(await region(), "Conversation");
    await page.keyboard.press("k");
    await page.keyboard.press("r");
    await until("there are two", () => page.getByText("2 of 2").isVisible());
    await page.keyboard.press("[");
    await until("the first is shown", () => page.getByText("1 of 2").isVisible());
    await page.keyboard.press("e");
    await page.keyboard.press("Control+a");
    await type(page, "say 3 of dunlin");
    await until("a branch is shown", () => !page.url().includes(session));
    await shows(page, 3, "dunlin");
    await page.keyboard.press("Control+Alt+z");
    await page.getByText("Turn undone.").waitFor();
    for (let tries = 0; tries < 3 && (await region()) !== "Conversation"; tries += 1)
      await page.keyboard.press("F6");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await until("the turn is back", async () => (await answerOf(page)).includes("dunlin.3"));
  },
};
