// Parts of the page that load on first use. Each opens without the server if the browser cached the page; otherwise it says
// that it is not loaded, and opens when the server is back. The rest of the page works all the time.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { field, open, until } from "../world.mjs";
import { kept } from "./installed.mjs";
import { link, nav } from "./list.mjs";
import { palette } from "./look.mjs";

const MANIFEST = join(import.meta.dirname, "../../build/.vite/manifest.json");
export const DRAFT = "half a sentence about dunlins";
export const TITLE = "Parts of the page";

/** Goes to an address without loading the page again. */
const go = (page, path) =>
  page.evaluate((path) => {
    history.pushState({}, "", path);
  }, path);

/** Presses a key where nothing is being written. */
const press = (key) => async (page) => {
  await page.evaluate(() => document.activeElement?.blur());
  await page.keyboard.press(key);
};
/** Without the palette, which may not be loaded, nobody can sign out. */
async function signOutUnsaved(page) {
  await page.route("**/draft", (route) => route.abort());
  await field(page).fill(`${DRAFT}, not saved`);
  await page.keyboard.press("Control+k");
  await until("the palette answers", async () => (await palette(page).or(late(page)).count()) > 0);
  if ((await palette(page).count()) === 0) return;
  await page.keyboard.type("sign out");
  await until("it is chosen", async () =>
    (await palette(page).locator("[aria-selected=true]").textContent()).includes("Sign out"),
  );
  await page.keyboard.press("Enter");
}
async function restoreDraft(page) {
  await page.unroute("**/draft");
  await field(page).fill(DRAFT);
}
const leave = (page, session) => go(page, `/s/${session}`);
const escape = (page) => page.keyboard.press("Escape");

/** How each part is opened, how it is recognized, and how it is left. */
const PARTS = {
  "src/commands/Palette.tsx": { open: press("Control+k"), shown: palette, leave: escape },
  "src/commands/Shortcuts.tsx": {
    open: press("?"),
    shown: (page) => page.getByRole("dialog", { name: "Keyboard shortcuts" }),
    leave: escape,
  },
  "src/sidebar/Menu.tsx": {
    open: (page) => link(page, TITLE).click({ button: "right" }),
    shown: (page) => page.getByRole("menu"),
    leave: escape,
  },
  "src/sessions/Questions.tsx": {
    open: async (page) => {
      await link(page, TITLE).focus();
      await page.keyboard.press("m");
    },
    shown: (page) => page.locator("dialog.ask"),
    leave: escape,
  },
  "src/sidebar/PickedBar.tsx": {
    open: (page) => link(page, TITLE).click({ modifiers: ["Control"] }),
    shown: (page) => nav(page).locator(".picked"),
    leave: (page) => link(page, TITLE).click({ modifiers: ["Control"] }),
  },
  "src/sidebar/Results.tsx": {
    open: (page) => nav(page).getByRole("searchbox").fill("dunlins"),
    shown: (page) => nav(page).locator(".results"),
    leave: (page) => nav(page).getByRole("searchbox").fill(""),
  },
  "src/conversation/History.tsx": {
    open: (page) => page.getByRole("button", { name: "History" }).click(),
    shown: (page) => page.getByRole("dialog", { name: "History" }),
    leave: escape,
  },
  "src/timeline/Timeline.tsx": {
    open: (page, session) => go(page, `/s/${session}/timeline`),
    shown: (page) => page.locator(".timeline"),
    leave,
  },
  "src/shell/SignOut.tsx": {
    open: signOutUnsaved,
    shown: (page) => page.getByRole("dialog", { name: "Sign out?" }),
    leave: async (page) => {
      await escape(page);
      await restoreDraft(page);
    },
    closed: restoreDraft,
  },
  "src/settings/Settings.tsx": {
    open: (page) => go(page, "/settings"),
    shown: (page) => page.locator(".settings[data-page]"),
    leave,
  },
  "src/server/ServerPage.tsx": {
    open: (page) => go(page, "/server"),
    shown: (page) => page.locator(".settings.server"),
    leave,
  },
  "src/first/Beginning.tsx": {
    open: (page) => go(page, "/"),
    shown: (page) => page.locator(".hello .do"),
    leave,
  },
  "src/share/Shared.tsx": {
    open: (page) => go(page, "/shared/nothing"),
    shown: (page) => page.locator(".shared"),
    leave,
  },
};

/**
 * Not opened by a click: the German messages, formulas (shown as source until loaded), and a part for tagged sessions,
 * whose tag comes from the server.
 */
const OTHERS = ["src/words/de.po", "src/markdown/tex.ts", "src/first/BreakIt.tsx"];

export function parts() {
  const manifest = Object.values(JSON.parse(readFileSync(MANIFEST, "utf8")));
  const found = manifest.filter(({ isDynamicEntry, src }) => isDynamicEntry && src?.startsWith("src/"));
  const names = found.map(({ src }) => src).filter((src) => !OTHERS.includes(src));
  assert.deepEqual(names.toSorted(), Object.keys(PARTS).toSorted(), "every part that loads on first use");
  return Object.entries(PARTS);
}

async function begun(world, options) {
  const session = await world.session(TITLE);
  const page = await world.page(options);
  await open(page, world, session);
  await field(page).fill(DRAFT);
  return { session, page };
}

export const late = (page) => page.locator(".late");
const isWhole = async (page) =>
  assert.equal(await field(page).inputValue(), DRAFT, "the composer is there with its text");

export const partsOfThePage = {
  async parts_open_without_server(world) {
    const { session, page } = await begun(world);
    await kept(page);
    world.network.set("reset");
    for (const [name, part] of parts()) {
      await part.open(page, session);
      await until(`${name} opens`, () => part.shown(page).first().isVisible());
      await part.leave?.(page, session);
      await isWhole(page);
    }
    world.network.set("pass");
  },

  async parts_open_when_the_server_is_back(world) {
    const { session, page } = await begun(world, { serviceWorkers: "block" });
    world.network.set("reset");
    for (const [name, part] of parts()) {
      await part.open(page, session);
      await until(
        `${name} says that it is not loaded`,
        async () => (await late(page).count()) > 0 || (await part.shown(page).first().isVisible()),
      );
      const close = late(page).getByRole("button", { name: "Close" });
      if ((await close.count()) > 0) {
        await close.click();
        await part.closed?.(page);
      } else await part.leave?.(page, session);
      await isWhole(page);
    }
    world.network.set("pass");
    for (const [name, part] of parts()) {
      await part.open(page, session);
      await until(`${name} opens`, () => part.shown(page).first().isVisible());
      await part.leave?.(page, session);
      await isWhole(page);
    }
  },
};
