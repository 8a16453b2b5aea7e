// Selection, copy, print and search cover the whole session, not only the turns on screen.

import assert from "node:assert/strict";

import { field, open, until } from "../world.mjs";
import { answered, row } from "./list.mjs";
import { choose, shows } from "./look.mjs";

/** More turns than the page loads when it opens a session. */
const BEYOND_STATE = 80;
/** More turns than a fully mounted session may have. */
const VIRTUALIZED = 210;
/** Messages that are posted before they are waited for; a queue takes more. */
const BATCH = 50;

const ask = (at, tag) => `say 2 of ${tag}${at}x`;
const said = (at, tag) => `${tag}${at}x.2`;
const numbers = (count) => Array.from({ length: count }, (_, at) => at);
/** The turns of which a text lacks the message or the answer. */
const lacking = (text, count, tag) =>
  numbers(count).filter((at) => !text.includes(ask(at, tag)) || !text.includes(said(at, tag)));

/** A session with so many answered turns. */
async function sessionOf(world, title, count, tag) {
  const session = await world.session(title);
  for (const at of numbers(count)) {
    await world.ask("POST", `/sessions/${session}/messages`, { text: ask(at, tag) });
    if (at % BATCH !== BATCH - 1 && at !== count - 1) continue;
    await until(
      "they are answered",
      async () => {
        const { queue, run, turns } = await world.ask("GET", `/sessions/${session}`);
        return queue.length === 0 && run == null && turns.at(-1)?.message.text === ask(at, tag);
      },
      60_000,
    );
  }
  return session;
}

/** Posts a message that a model answers with a text, to the letter. */
async function recite(world, session, text) {
  await world.ask("POST", `/sessions/${session}/messages`, { text: `recite\n${text}`, model: "reciting" });
  await answered(world, session);
}

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };

/** Selects everything from within the conversation, copies it, and returns what is on the clipboard then. */
async function copyAll(page) {
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await page.getByRole("region", { name: "Conversation" }).focus();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+c");
  return until("it is copied", () => page.evaluate(() => navigator.clipboard.readText()));
}

/** Runs in the page. Records the printed text instead of opening the dialog, which a test cannot close. */
function notePrints() {
  window.prints = [];
  window.print = () => {
    window.dispatchEvent(new Event("beforeprint"));
    const turns = [...document.querySelectorAll("article[data-turn]")];
    window.prints.push(turns.map((turn) => turn.textContent).join("\n"));
    window.dispatchEvent(new Event("afterprint"));
  };
}

const prepare = (context) => context.addInitScript(notePrints);

/** What was printed, once it was. */
const printed = (page) => until("it is printed", () => page.evaluate(() => window.prints.shift()));

/** The turns that have no place on the paper, or only a part of one. */
const cutOff = (page) =>
  page.evaluate(() => {
    const paper = document.documentElement.scrollHeight;
    const clips = (node) =>
      getComputedStyle(node).overflowY !== "visible" && node !== document.documentElement;
    const isClipped = (node) => node !== null && (clips(node) || isClipped(node.parentElement));
    return [...document.querySelectorAll("article[data-turn]")]
      .filter((turn) => {
        const { height, bottom } = turn.getBoundingClientRect();
        const drawn = turn.checkVisibility({ contentVisibilityAuto: true });
        return !drawn || height === 0 || bottom > paper + 1 || isClipped(turn.parentElement);
      })
      .map((turn) => turn.dataset.turn);
  });

const pages = (pdf) => pdf.toString("latin1").match(/\/Type \/Page\b/g)?.length ?? 0;

export const whole = {
  async whole_session_is_selected_and_copied(world) {
    const session = await sessionOf(world, "Copy of all", 24, "smew");
    const page = await world.page(CLIPBOARD);
    await open(page, world, session);
    await shows(page, 2, "smew23x");
    assert.equal(await page.locator("article[data-turn]").count(), 24, "every turn is in the page");
    assert.deepEqual(lacking(await copyAll(page), 24, "smew"), []);
  },

  async whole_session_is_printed(world) {
    const session = await sessionOf(world, "Paper", 24, "goosander");
    const page = await world.page();
    await open(page, world, session);
    await shows(page, 2, "goosander23x");
    assert.ok(pages(await page.pdf()) > 1, "it goes on over pages");
    await page.emulateMedia({ media: "print" });
    assert.deepEqual(await cutOff(page), []);
    assert.ok(!(await field(page).isVisible()), "the composer is not printed");
    assert.ok(!(await page.locator(".side").isVisible()), "the sidebar is not printed");
    await page.emulateMedia({ media: "screen" });
    assert.ok(await field(page).isVisible());
  },

  /** Turns that the page was not given yet are loaded before the browser's dialog opens. */
  async long_session_is_printed_by_command(world) {
    const session = await sessionOf(world, "Much paper", BEYOND_STATE, "scoter");
    const page = await world.page({ prepare });
    // A page that is slow to scroll to the end requests earlier turns, and would have all of them.
    const earlier = /\/turns\?/;
    await page.route(earlier, (route) => route.abort());
    await open(page, world, session);
    await shows(page, 2, `scoter${BEYOND_STATE - 1}x`);
    const shown = await page.locator("article[data-turn]").count();
    assert.ok(shown < BEYOND_STATE, `${shown} turns are there at first`);
    world.network.set("reset");
    await page.keyboard.press("Control+p");
    const failed = page.locator(".strip", { hasText: "Couldn't load the whole session to print it." });
    await failed.waitFor();
    assert.equal(await page.evaluate(() => window.prints.length), 0, "a part of it is not printed");
    await page.unroute(earlier);
    world.network.set("pass");
    await failed.waitFor({ state: "detached" });
    await choose(page, "print", "Print");
    assert.deepEqual(lacking(await printed(page), BEYOND_STATE, "scoter"), []);
  },

  /** A session that is too long to stand in the page whole. */
  async virtualized_session_is_printed_and_copied(world) {
    const session = await sessionOf(world, "A book", VIRTUALIZED, "garganey");
    const page = await world.page({ prepare, ...CLIPBOARD });
    await open(page, world, session);
    await shows(page, 2, `garganey${VIRTUALIZED - 1}x`);
    const turns = page.locator("article[data-turn]");
    await page.keyboard.press("Control+p");
    assert.deepEqual(lacking(await printed(page), VIRTUALIZED, "garganey"), []);
    await until("they left the page", async () => (await turns.count()) < VIRTUALIZED);
    assert.deepEqual(lacking(await copyAll(page), VIRTUALIZED, "garganey"), []);
    await page.keyboard.press("Home");
    const first = page.getByText(ask(0, "garganey"), { exact: true });
    await until("the first is in sight", () => first.isVisible());
  },

  async direction_of_text(world) {
    const arabic = "مرحبا بالبحيرة";
    world.reciter.texts.set("lake", "the lake");
    world.reciter.questions.set(arabic, "recite lake");
    const session = await world.session(arabic);
    await world.ask("POST", `/sessions/${session}/messages`, { text: arabic, model: "reciting" });
    await answered(world, session);
    const page = await world.page();
    await open(page, world, session);
    const direction = (node) => node.evaluate((node) => getComputedStyle(node).direction);
    const message = page.locator("article[data-turn] .said .words").last();
    await message.waitFor();
    assert.equal(await direction(message), "rtl");
    assert.equal(await direction(page.locator("main .head h1")), "rtl");
    assert.equal(await direction(row(page, arabic).locator(".t")), "rtl");
    assert.equal(await direction(page.locator("article[data-turn] .who").last()), "ltr");
    await field(page).fill(arabic);
    assert.equal(await direction(field(page)), "rtl");
    await field(page).fill("a heron");
    assert.equal(await direction(field(page)), "ltr");
    await field(page).fill("");
  },

  /** Words are found as they are read: over the ends of formatting, without case and accents. */
  async find_formatted_words(world) {
    const session = await world.session("Found words");
    await recite(world, session, "The **great** white *heron* stands in the Straße.\n\nİİ cafés, `grow()`.");
    await recite(world, session, "Something else.");
    const page = await world.page();
    await open(page, world, session);
    await page.locator("article[data-turn] .prose strong", { hasText: "great" }).waitFor();
    await page.keyboard.press("Control+f");
    const typed = page.getByRole("textbox", { name: "Find in this session" });
    const marked = () =>
      page.evaluate(() => [...(CSS.highlights.get("found") ?? [])].map((range) => range.toString()));
    // The message shows the source as it was written, so that only whole words of it are found there.
    for (const [words, ...found] of [
      ["great white heron", "great white heron"],
      ["STRASSE", "Straße", "Straße"],
      ["ii cafes, grow()", "İİ cafés, grow()"],
    ]) {
      await typed.fill(words);
      await page.getByRole("search").getByText("1 of 1").waitFor();
      await until(`${words} is marked`, async () => JSON.stringify(await marked()) === JSON.stringify(found));
    }
    // Words end with their paragraph.
    await typed.fill("heron stands in the Straße. İİ");
    await page.getByText("No results").waitFor();
    await page.keyboard.press("Escape");
    await until("no marks are left", async () => (await marked()).length === 0);
  },
};
