// `just bench-web [--brief | --full] [--tab]`: measures the web UI in a real browser against the released binary. An
// empty page, measured in the same run, tells slow UI code from a busy machine. `--tab` measures the memory of a tab that
// stays open, and nothing else.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { bareDraft, longDraft } from "./bench/draft.mjs";
import { Figures } from "./bench/figures.mjs";
import { frameCosts } from "./bench/frames.mjs";
import { emptyScroll, listScroll, manySessions, searchTime } from "./bench/list.mjs";
import { openForLong } from "./bench/memory.mjs";
import { Meter } from "./bench/meter.mjs";
import { atRest, longSession, question } from "./bench/seed.mjs";
import { blankFrames, fromEnd, movement, scrollTo, stillness } from "./bench/standing.mjs";
import { list, text } from "./bench/texts.mjs";
import { World, field, open, until } from "./world.mjs";

const full = process.argv.includes("--full");
const SEED = full
  ? { turnsMax: 5_000, secondsMax: Number.POSITIVE_INFINITY }
  : { turnsMax: 1_000, secondsMax: 30 };
const SECONDS = full ? 20 : 5;
const EMPTY_SECONDS = full ? 10 : 3;
const OPENS = full ? 9 : 3;
/** A token is four letters; the model says one each 10 ms. */
const PACE = 10;
const LONG = 60_000;
/** Sessions visited in one tab, and how long the tab stays open before its memory is measured again. */
const OPEN_TAB = process.argv.includes("--brief")
  ? { count: 12, seconds: 15 }
  : { count: 50, seconds: full ? 3_600 : 180 };
const LONG_LIST = 100_000;
/** Sessions in the list. */
const LISTED = full ? 100_000 : 5_000;
/** What the empty page cannot do either is not asked of ours; this much more is. */
const MARGIN = 1.1;
/** Of the prototype: script at most and frames at least, from nothing and with a long answer. Within a tenth of it. */
const PROTOTYPE = { fresh: { script: 70 * 1.1, fps: 57 * 0.9 }, long: { script: 84 * 1.1, fps: 53 * 0.9 } };
const BUDGET = { fresh: 120, long: 150 };

const dist = join(import.meta.dirname, "../dist");
const figures = new Figures({ full });
const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));
const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

/** Kilobytes on the wire of what the browser asks for until the list is shown. */
async function sizes(page, world) {
  const names = new Set();
  page.on("response", (response) => names.add(new URL(response.url()).pathname));
  await page.goto(world.origin);
  await page.getByRole("navigation", { name: "Sessions" }).waitFor();
  await page.evaluate(() => document.fonts.ready.then(() => undefined));
  const sum = (ending, packed) =>
    [...names]
      .filter((name) => name.endsWith(ending))
      .reduce((sum, name) => sum + packed(readFileSync(join(dist, name))).length / 1_000, 0);
  const gzip = (bytes) => gzipSync(bytes, { level: 9 });
  const packedAlready = (bytes) => bytes;
  figures.size("js_kb", sum(".js", gzip), 180);
  figures.size("css_kb", sum(".css", gzip), 20);
  figures.size("fonts_kb", sum(".woff2", packedAlready), 60);
}

/** Runs in the page before its own scripts. When the newest answer can be read, from the beginning of the load. */
function watchReadable() {
  const look = new MutationObserver(() => {
    const newest = [...document.querySelectorAll("article[data-turn]")].at(-1);
    if (!newest?.querySelector(".prose")?.textContent) return;
    look.disconnect();
    requestAnimationFrame(() => setTimeout(() => (window.readableAt = performance.now())));
  });
  look.observe(document, { subtree: true, childList: true, characterData: true });
}

async function openings(context, world, session) {
  const times = [];
  for (let time = 0; time < OPENS; time += 1) {
    const page = await context.newPage();
    await page.addInitScript(watchReadable);
    await page.goto(`${world.origin}/s/${session}`);
    times.push(await until("the newest answer can be read", () => page.evaluate(() => window.readableAt)));
    await page.close();
  }
  figures.note(`opened in ${times.map(Math.round).join(", ")} ms`);
  figures.slowest("open_ms", median(times), 1_000);
}

/** An older page arrives above who reads; the network holds it back until nothing else moves. */
async function prepend(page) {
  let letGo;
  const held = new Promise((resolve) => (letGo = resolve));
  await page.route("**/turns?*", async (route) => {
    await held;
    await route.continue();
  });
  const came = page.waitForResponse("**/turns?*");
  await scrollTo(page, 0);
  await sleep(200);
  // Off the top, so that there is a line to hold on to.
  await scrollTo(page, 0.03);
  await stillness(page);
  const height = () => page.evaluate(() => document.querySelector(".thread").scrollHeight);
  const before = await height();
  const moved = await movement(page, async () => {
    letGo();
    await came;
    await until("the older page is there", async () => (await height()) > before);
    await stillness(page);
  });
  await page.unroute("**/turns?*");
  figures.exact("prepend_px", moved, 0);
}

/** The Home key goes to the very first turn, however far it is, and never through an empty screen. */
async function home(page, turns) {
  const first = page.getByText(question(1), { exact: true });
  const progress = page.getByText("Loading earlier turns…");
  const begun = performance.now();
  const { frames, blank } = await blankFrames(page, async () => {
    await page.getByRole("region", { name: "Conversation" }).focus();
    const told = progress.waitFor({ timeout: 10_000 }).then(
      () => 1,
      () => 0,
    );
    await page.keyboard.press("Home");
    figures.exact("progress_shown", await told, 1);
    await first.waitFor({ timeout: 60_000 }).catch(() => undefined);
    figures.note(`the first of ${turns} turns after ${Math.round(performance.now() - begun)} ms`);
    await stillness(page);
    for (const part of [0.2, 0.7, 0.1, 0.5]) {
      await scrollTo(page, part);
      await stillness(page);
    }
    await page.keyboard.press("Home");
    await stillness(page);
  });
  figures.exact("first_turn_shown", Number((await first.count()) > 0 && (await first.isVisible())), 1);
  figures.note(`${frames} frames on the way`);
  figures.exact("blank_frames", blank, 0);
  await page.keyboard.press("End");
  await stillness(page);
  const last = page.getByText(question(turns), { exact: true });
  figures.exact("last_turn_shown", Number(await last.isVisible()), 1);
  figures.exact("end_px", Math.round(await fromEnd(page)), 0);
}

/** An answer that is already so long comes on, a token each 10 ms. */
async function stream(world, session, ahead, name = "endless") {
  const text = `recite ${name} pace ${PACE} ahead ${ahead}`;
  await world.ask("POST", `/sessions/${session}/messages`, { text });
}

async function stop(world, session) {
  await world.ask("POST", `/sessions/${session}/stop`, {});
  await atRest(world, session);
}

/** What this machine does with a page that does nothing, while the same server streams the same to nobody. */
async function emptyPage(world) {
  const session = await world.session("unread");
  const page = await (await world.browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.setContent("<title>empty</title><textarea></textarea>");
  await page.locator("textarea").focus();
  const meter = await Meter.of(page);
  await stream(world, session, 0);
  await sleep(1_000);
  const measured = await meter.measure(EMPTY_SECONDS);
  await stop(world, session);
  await page.context().close();
  tell("empty page", measured);
  return measured;
}

function tell(name, { fps, script, scriptWall, layout, longest, gap, key }) {
  const numbers = {
    fps,
    "script ms/s": script,
    "by the clock": scriptWall,
    "layout ms/s": layout,
    "longest task ms": longest,
    "longest without a frame ms": gap,
    "key p95 ms": key,
  };
  const said = Object.entries(numbers).map(([name, value]) => `${name} ${Math.round(value * 10) / 10}`);
  figures.note(`${name}: ${said.join(", ")}`);
}

async function live(page, world, session, { name, ahead }) {
  const meter = await Meter.of(page);
  // A field of several lines: measuring it must not move the conversation.
  await field(page).fill("one line\nand another ");
  await stream(world, session, ahead);
  const answer = page.locator("article[data-turn]").last().locator(".prose").last();
  const letters = async () => (await answer.textContent()).length;
  await until("it writes", async () => (await answer.count()) > 0 && (await letters()) > ahead * 0.7);
  await sleep(1_000);
  const [before, at] = [await letters(), performance.now()];
  const measured = await meter.measure(SECONDS);
  const rate = ((await letters()) - before) / ((performance.now() - at) / 1_000);
  tell(name, measured);
  figures.note(`${name}: ${Math.round(rate)} letters a second were shown, markup apart`);
  figures.exact(`${name}.followed`, Number((await fromEnd(page)) <= 1), 1);
  return measured;
}

/** Held against the empty page just before and just after: other work comes and goes. */
function judge(name, measured, empties) {
  const empty = {
    fps: Math.min(...empties.map(({ fps }) => fps)),
    gap: Math.max(...empties.map(({ gap }) => gap)),
    key: Math.max(...empties.map(({ key }) => key)),
  };
  figures.slowest(`${name}.script`, measured.script, BUDGET[name]);
  figures.slowest(`${name}.script_beside_prototype`, measured.script, PROTOTYPE[name].script);
  figures.quickest(`${name}.fps`, measured.fps, PROTOTYPE[name].fps, empty.fps / MARGIN);
  // A machine that leaves an empty page without a frame for so long holds up a task of ours too.
  figures.slowest(`${name}.longest_task_ms`, measured.longest, 100, empty.gap * MARGIN);
  figures.slowest(`${name}.key_p95_ms`, measured.key, 100, empty.key * MARGIN);
}

/** Text comes at the end while somebody reads a little above it, and in the middle. */
async function reading(page) {
  await page.mouse.move(700, 300);
  await page.mouse.wheel(0, -150);
  await sleep(500);
  figures.exact("reading_near_end_px", await movement(page, () => sleep(1_500)), 0);
  figures.exact(
    "told_of_text_below",
    Number(await page.getByRole("button", { name: "New text" }).isVisible()),
    1,
  );
  await scrollTo(page, 0.5);
  await sleep(500);
  figures.exact("reading_px", await movement(page, () => sleep(1_500)), 0);
}

/** Types into a 50 kB draft: keys show as fast as in a bare field with the same text, and a reload loses none. */
async function typing(context, world) {
  const before = await bareDraft(world, SECONDS);
  const draft = await longDraft(context, world, SECONDS);
  const after = await bareDraft(world, SECONDS);
  tell("bare field with the draft", before);
  tell("long draft", draft);
  tell("bare field with the draft", after);
  figures.slowest("draft.key_p95_ms", draft.key, 16, Math.max(before.key, after.key) * MARGIN);
  figures.exact("draft.kept", Number(draft.kept), 1);
}

/** Keeps one tab open while answers stream and sessions are visited: its heap grows by at most a tenth. */
async function openTab(context, world) {
  const page = await context.newPage();
  await page.goto(world.origin);
  await page.bringToFront();
  const { before, after, visits } = await openForLong(world, page, OPEN_TAB);
  figures.note(
    `open for ${OPEN_TAB.seconds} s: ${visits} visits, ${before.toFixed(1)} MB before, ${after.toFixed(1)} after`,
  );
  figures.size("open_tab.heap_growth_percent", (after / before - 1) * 100, 10);
  await page.close();
}

/** Extends a list that is already long: new items render, existing ones do not re-render. */
async function longList(context, world) {
  const session = await world.session("A long list");
  const page = await context.newPage();
  await open(page, world, session);
  await stream(world, session, LONG_LIST, "long-list");
  const prose = "article[data-turn] .parts .prose";
  const letters = () => page.evaluate((prose) => document.querySelector(prose)?.textContent.length, prose);
  await until("the list is shown", async () => (await letters()) > LONG_LIST * 0.7);
  await sleep(1_000);
  const before = await page.locator(`${prose} li`).count();
  const { frames, rendered, painted } = await frameCosts(page, prose, () => sleep(SECONDS * 1_000));
  const items = await page.locator(`${prose} li`).count();
  const lists = await page.locator(`${prose} > ul`).count();
  await stop(world, session);
  figures.note(`the long list: ${items} items, ${items - before} of them in ${frames} frames`);
  figures.note(`the long list: a frame was painted after ${Math.round(painted * 10) / 10} ms, p95`);
  figures.exact("long_list.grew", Number(items > before), 1);
  figures.exact("long_list.lists", lists, 1);
  figures.slowest("long_list.frame_ms_p95", rendered, 8);
  await page.close();
}

/** Very many sessions: the list goes on smoothly, with few elements, and a search answers at once. */
async function manyInList(context, world) {
  const begun = performance.now();
  await manySessions(world, LISTED);
  figures.note(`${LISTED} sessions made in ${Math.round((performance.now() - begun) / 1_000)} s`);
  const page = await context.newPage();
  await page.goto(world.origin);
  const empty = await emptyScroll(world, EMPTY_SECONDS);
  await page.bringToFront();
  const { fps, top, elements } = await listScroll(page, SECONDS);
  figures.note(`the list: ${Math.round(top)} px were gone through, ${elements} elements`);
  figures.quickest("list.fps", fps, 50, empty / MARGIN);
  figures.size("list.elements", elements, 1_500);
  figures.slowest("list.search_ms", await searchTime(page, "bitterns", 15), 100);
  figures.slowest("list.search_many_ms", await searchTime(page, "herons reeds", 15), 100);
  await page.close();
}

/** Runs every measurement, including the tab that stays open. */
async function measure(world) {
  world.reciter.texts.set("endless", text(LONG + 60_000));
  world.reciter.texts.set("long-list", list(LONG_LIST + 60_000));
  const begun = performance.now();
  const { session, turns } = await longSession(world, SEED);
  figures.note(`${turns} turns made in ${Math.round((performance.now() - begun) / 1_000)} s`);
  const first = await world.page({ watched: false });
  const context = first.context();
  const strangers = [];
  context.on("request", (request) => {
    const { origin, protocol } = new URL(request.url());
    if (!["data:", "blob:"].includes(protocol) && origin !== world.origin) strangers.push(request.url());
  });
  await sizes(await context.newPage(), world);
  for (const page of context.pages()) await page.close();
  await openings(context, world, session);
  const page = await context.newPage();
  await open(page, world, session);
  await until("it is shown", () => page.getByText(question(turns), { exact: true }).isVisible());
  await stillness(page);
  await prepend(page);
  await home(page, turns);
  figures.size("heap_mb", await (await Meter.of(page)).heap(), 60);
  const before = await emptyPage(world);
  await page.bringToFront();
  const fresh = await live(page, world, session, { name: "fresh", ahead: 0 });
  await stop(world, session);
  const between = await emptyPage(world);
  await page.bringToFront();
  const long = await live(page, world, session, { name: "long", ahead: LONG });
  await reading(page);
  figures.size("heap_long_mb", await (await Meter.of(page)).heap(), 60);
  await stop(world, session);
  const after = await emptyPage(world);
  judge("fresh", fresh, [before, between]);
  judge("long", long, [between, after]);
  await typing(context, world);
  await openTab(context, world);
  await longList(context, world);
  await manyInList(context, world);
  for (const stranger of strangers) figures.note(`asked elsewhere: ${stranger}`);
  figures.exact("third_party_requests", strangers.length, 0);
}

const world = await World.make({ model: "reciting" });
try {
  if (process.argv.includes("--tab")) {
    const page = await world.page({ watched: false });
    await openTab(page.context(), world);
  } else {
    await measure(world);
  }
} finally {
  await world.end();
}
process.exit(figures.verdict());
