// The way back to the end of a conversation is offered to a reader who left it, and to nobody else.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { shows, stopButton } from "./look.mjs";

const offer = (page, name) => page.getByRole("button", { name, exact: true });
const offers = (page) => page.locator(".area > button, .to-end").count();

/** How far the reader is from the end. */
const fromEnd = (page) =>
  page.evaluate(() => {
    const area = document.querySelector(".thread");
    return area.scrollHeight - area.scrollTop - area.clientHeight;
  });

async function wheel(page, by) {
  await page.locator(".thread").hover();
  await page.mouse.wheel(0, by);
}

/** Whether the button lies over any text. */
const covers = (page) =>
  page.evaluate(() => {
    const at = document.querySelector(".to-end button").getBoundingClientRect();
    const thread = document.querySelector(".thread").getBoundingClientRect();
    const column = document.querySelector(".thread > .col").getBoundingClientRect();
    return at.left < column.right && at.top < thread.bottom;
  });

export const theEnd = {
  async end_is_offered_above_it(world) {
    const session = await world.session("to the end");
    const page = await world.page();
    await open(page, world, session);
    // What fits on the screen has no end to go to.
    await say(page, "say 60 of dunlin pace 40");
    await shows(page, 5, "dunlin");
    await wheel(page, -400);
    await shows(page, 60, "dunlin");
    assert.equal(await fromEnd(page), 0);
    assert.equal(await offers(page), 0, "nothing is below");

    await say(page, "say 9000 of turnstone pace 5");
    await until("it is long", () =>
      page.evaluate(() => document.querySelector(".thread").scrollHeight > 3_000),
    );
    assert.equal(await offers(page), 0, "who is at the end is there");
    await wheel(page, -900);
    await offer(page, "New text").waitFor();
    assert.ok(!(await covers(page)), "it covers no text");
    await page.setViewportSize({ width: 390, height: 844 });
    await wheel(page, -900);
    await offer(page, "New text").waitFor();
    assert.ok(!(await covers(page)), "also on a phone");
    await page.setViewportSize({ width: 1280, height: 800 });
    await offer(page, "New text").click();
    await until("it follows the end", async () => (await offers(page)) === 0 && (await fromEnd(page)) <= 1);
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();

    await wheel(page, -900);
    await offer(page, "Jump to latest").waitFor();
    assert.equal(await offer(page, "New text").count(), 0, "nothing came");
    await offer(page, "Jump to latest").click();
    await until("it is at the end", async () => (await offers(page)) === 0 && (await fromEnd(page)) <= 1);
  },
};
