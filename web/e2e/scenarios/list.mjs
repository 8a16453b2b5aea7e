// The list of sessions, as scenarios look at it and use it.

import { until } from "../world.mjs";

export const nav = (page) => page.getByRole("navigation", { name: "Sessions" });
/** The row of a session, and the link in it. */
export const row = (page, title) => nav(page).locator("[data-session]", { hasText: title });
export const link = (page, title) => row(page, title).getByRole("link");
export const button = (page, name) => nav(page).getByRole("button", { name, exact: true });
export const dialog = (page) => page.getByRole("dialog");
export const view = (page, name) => nav(page).getByRole("button", { name: new RegExp(`^${name}`) });
export const place = (page, name) => nav(page).locator(".places").getByRole("button", { name });

/** Does something by the menu of a row. */
export async function menu(page, title, item) {
  await link(page, title).click({ button: "right" });
  await page.getByRole("menuitem", { name: item, exact: true }).click();
}

/** Waits until the rows with these words are exactly these, from the top. */
export async function lists(page, words, titles) {
  const seen = () =>
    nav(page)
      .locator(".sess .t")
      .evaluateAll(
        (nodes, words) => nodes.map((node) => node.textContent).filter((t) => t.includes(words)),
        words,
      );
  await until(`${words}: ${titles}`, async () => JSON.stringify(await seen()) === JSON.stringify(titles));
}

export const of = (world, session) => world.ask("GET", `/sessions/${session}`);
export const answered = (world, session) =>
  until("it is answered", async () => {
    const { turns, run } = await of(world, session);
    return run == null && turns.at(-1)?.answer?.complete === true;
  });
