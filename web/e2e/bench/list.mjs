// The list with very many sessions: how it scrolls beside a page that only scrolls, and how soon a search answers.

import { until } from "../world.mjs";

const AT_ONCE = 64;

/** Makes so many sessions, named by what they are about. */
export async function manySessions(world, count) {
  let made = 0;
  const one = async () => {
    while (made < count) {
      made += 1;
      await world.session(`Notes ${made} about ${made % 1_000 === 7 ? "bitterns" : "herons"} and reeds`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
}

/** Runs in a page: scrolls by a screenful a second and a half, and counts the frames of each second. */
async function scroll({ selector, seconds }) {
  const area = document.querySelector(selector);
  const begun = performance.now();
  let frames = 0;
  while (performance.now() - begun < seconds * 1_000) {
    await new Promise(requestAnimationFrame);
    area.scrollTop += 40;
    frames += 1;
  }
  return { fps: frames / ((performance.now() - begun) / 1_000), top: area.scrollTop };
}

/** Frames a second of a page that only scrolls. */
export async function emptyScroll(world, seconds) {
  const page = await (await world.browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.setContent('<div id="area"><div id="tall"></div></div>');
  await page.evaluate(() => {
    Object.assign(document.querySelector("#area").style, { height: "700px", overflow: "auto" });
    document.querySelector("#tall").style.height = "3000000px";
  });
  const { fps } = await page.evaluate(scroll, { selector: "#area", seconds });
  await page.context().close();
  return fps;
}

/** Frames a second while the list is gone through, how far that went, and how many elements it took. */
export async function listScroll(page, seconds) {
  const list = page.locator(".side .list");
  await until("the list is there", async () => (await list.locator("[data-row]").count()) > 5);
  const { fps, top } = await page.evaluate(scroll, { selector: ".side .list", seconds });
  const elements = await list.evaluate((node) => node.querySelectorAll("*").length);
  return { fps, top, elements };
}

/** Milliseconds from a question to its answer, in the page: the middle of several. */
export async function searchTime(page, words, times) {
  const taken = await page.evaluate(
    async ({ words, times }) => {
      const taken = [];
      for (let time = 0; time < times; time += 1) {
        const begun = performance.now();
        const answer = await fetch(`/api/v1/search?words=${encodeURIComponent(words)}&count=100`);
        const { hits } = await answer.json();
        if (hits.length === 0) throw new Error(`${words} is not found`);
        taken.push(performance.now() - begun);
      }
      return taken;
    },
    { words, times },
  );
  return taken.toSorted((one, other) => one - other)[Math.floor(times / 2)];
}
