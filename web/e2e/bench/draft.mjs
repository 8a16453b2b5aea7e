// A long draft: measures the latency of a key, and checks that the last key survives a reload.

import { field, open, until } from "../world.mjs";
import { Meter } from "./meter.mjs";
import { text } from "./texts.mjs";

const LETTERS = 50_000;
const LAST = " the last heron";

/** Types into a 50 kB draft for `seconds`, then reloads the page at once. */
export async function longDraft(context, world, seconds) {
  const session = await world.session("A long draft");
  const page = await context.newPage();
  await open(page, world, session);
  await field(page).fill(text(LETTERS).slice(0, LETTERS));
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
