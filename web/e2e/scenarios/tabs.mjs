// Many tabs, and narrow ones.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { same, shows, stopButton } from "./look.mjs";

/** Whether something sticks out of the page, and which targets are too small to hit. */
function fits(page) {
  return page.evaluate(() => {
    const wide = document.documentElement.scrollWidth > window.innerWidth;
    const small = [...document.querySelectorAll("button, a, select, input, textarea")].filter((node) => {
      const { width, height } = node.getBoundingClientRect();
      return (
        width > 0 && height > 0 && (width < 24 || height < 24) && getComputedStyle(node).display !== "inline"
      );
    });
    return { wide, small: small.map((node) => node.outerHTML.slice(0, 80)) };
  });
}

export const tabs = {
  /** On plain HTTP a browser has six connections to a server; a tab must not take one for itself. */
  async eight_tabs(world) {
    const session = await world.session("tabs");
    const first = await world.page();
    const others = [];
    for (let count = 1; count < 8; count += 1) {
      const page = await first.context().newPage();
      page.problems = first.problems;
      others.push(page);
    }
    for (const page of [first, ...others]) await open(page, world, session);
    await say(first, "say 100 of stilt pace 10");
    for (const page of [first, ...others]) {
      await shows(page, 100, "stilt", 30_000);
      await same(page, world, session);
    }
  },

  /** On a phone the keyboard would cover what one came to read. */
  async phone_reads_before_it_writes(world) {
    const session = await world.session("read first");
    const focused = (page) => page.evaluate(() => document.activeElement?.tagName);
    const phone = await world.page({ width: 390, height: 844, isMobile: true, hasTouch: true });
    await open(phone, world, session);
    await phone.getByRole("heading", { name: "Nothing you write here gets lost." }).waitFor();
    assert.notEqual(await focused(phone), "TEXTAREA");
    const page = await world.page();
    await open(page, world, session);
    await until("the composer has the focus", async () => (await focused(page)) === "TEXTAREA");
  },

  async narrow(world) {
    for (const width of [390, 320]) {
      const session = await world.session(`narrow ${width}`);
      const page = await world.page({ width, height: 700 });
      await open(page, world, session);
      const holds = async (state) =>
        assert.deepEqual(await fits(page), { wide: false, small: [] }, `${state} at ${width} px`);
      await holds("empty");
      await say(page, `say 3000 of knot${width} pace 10 think 20 call`);
      await shows(page, 10, `knot${width}`);
      await holds("writing");
      await say(page, `say 2 of waits${width}`);
      await until("one waits", async () => (await page.locator(".q").count()) === 1);
      await holds("with a waiting message");
      await world.kill();
      await page.locator(".strip").waitFor({ timeout: 20_000 });
      await holds("out of touch");
      await world.serve();
      await page.locator(".strip.ok").waitFor({ timeout: 30_000 });
      await holds("back");
      await stopButton(page).click();
      const resume = page.getByRole("button", { name: "Resume", exact: true });
      await resume.waitFor();
      await holds("with a paused queue");
      await resume.click();
      await shows(page, 2, `waits${width}`, 20_000);
      await holds("stopped");
    }
  },
};
