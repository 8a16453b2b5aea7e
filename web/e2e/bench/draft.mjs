// A long draft: measures the latency of a key, and checks that the last key survives a reload. A bare field with the
// same text, in the same run, shows how much of the latency is the browser's own.

import { field, open, until } from "../world.mjs";
import { Meter } from "./meter.mjs";
import { text } from "./texts.mjs";

const LETTERS = 50_000;
const LAST = " the last heron";

const draft = () => text(LETTERS).slice(0, LETTERS);

/** Types into a 50 kB draft for `seconds`, then reloads the page at once. */
export async function longDraft(context, world, seconds) {
  const session = await world.session("A long draft");
  const page = await context.newPage();
  await open(page, world, session);
  await field(page).fill(draft());
  await field(page).press("Control+End");
  await page.getByText("Draft saved").waitFor();
  const measured = await (await Meter.of(page)).measure(seconds);
  await page.keyboard.type(LAST);
  await page.reload();
  await field(page).waitFor();
  const kept = await until("the draft is there", () => field(page).inputValue());
  await page.close();
  return { ...measured, kept: kept.endsWith(LAST) };
}

/** Types into a bare field of the same size that holds the same text, on a page without styles or script. */
export async function bareDraft(world, seconds) {
  const page = await (await world.browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.setContent('<title>bare</title><textarea style="width: 700px; height: 320px"></textarea>');
  await page.locator("textarea").fill(draft());
  await page.locator("textarea").press("Control+End");
  const measured = await (await Meter.of(page)).measure(seconds);
  await page.context().close();
  return measured;
}
