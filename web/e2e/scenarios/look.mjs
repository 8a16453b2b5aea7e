// What scenarios look at.

import { answerOf, foldOf, until, words } from "../world.mjs";

/** Waits until a token of the newest answer is shown. */
export async function shows(page, count, tag, most) {
  await until(
    `${tag}.${count} is shown`,
    async () => (await answerOf(page)).includes(`${tag}.${count}`),
    most,
  );
}

/** What is seen is what the server's fold says, to the word. */
export async function same(page, world, session) {
  await until("what is seen is the server's fold", async () => {
    const [seen, fold] = [await answerOf(page), await foldOf(world, session)];
    return words(seen) === words(fold) && seen !== "";
  });
}

/** The kinds of the markers of the newest turn, in order. */
export function markers(page) {
  return page.evaluate(() => {
    const turn = [...document.querySelectorAll("article[data-turn]")].at(-1);
    return [...(turn?.querySelectorAll("[data-marker]") ?? [])].map((node) => node.dataset.marker);
  });
}

/** Where the newest answer was interrupted and continued: the kind and the words of each knot. */
export function knots(page) {
  return page.evaluate(() => {
    const turn = [...document.querySelectorAll("article[data-turn]")].at(-1);
    const all = [...(turn?.querySelectorAll(".parts .cut") ?? [])];
    return all.map((node) => ({ kind: node.dataset.cut, words: node.getAttribute("aria-label") }));
  });
}

/** The texts of the visible messages. */
export function messages(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("article[data-turn] > .e:first-child .said .words")].map(
      (node) => node.textContent,
    ),
  );
}

/** Another tab of the same browser. */
export async function beside(page) {
  const other = await page.context().newPage();
  other.problems = page.problems;
  return other;
}

export const stopButton = (page) => page.getByRole("button", { name: "Stop" });
export const tray = (page) => page.getByRole("list", { name: "Queued messages" });
export const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

/** What lies over the page and lists what can be done, in whatever language. */
export const palette = (page) => page.locator("dialog.pal");

/** Opens the palette, types, and does what is wanted once it is chosen. */
export async function choose(page, typed, wanted) {
  await page.keyboard.press("Control+k");
  await palette(page).waitFor();
  await page.keyboard.insertText(typed);
  await until(`${wanted} is chosen`, async () =>
    (await palette(page).locator("[aria-selected=true]").textContent()).includes(wanted),
  );
  await page.keyboard.press("Enter");
  await palette(page).waitFor({ state: "detached" });
}
