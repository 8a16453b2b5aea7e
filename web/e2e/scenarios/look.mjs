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

/** The texts of the visible messages. */
export function messages(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("article[data-turn] > .e:first-child .said .words")].map(
      (node) => node.textContent,
    ),
  );
}

export const stopButton = (page) => page.getByRole("button", { name: "Stop" });
export const tray = (page) => page.getByRole("list", { name: "Waiting messages" });
export const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
