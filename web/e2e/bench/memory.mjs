// Memory of one tab that stays open while answers stream in and many sessions are visited. Each session is
// filled to the limit of what a page caches before the first measurement, with as many undone turns as can be
// redone. A page that evicts sessions must not grow after that. Each visit's turn is undone, because sessions that get
// longer need more memory.

import { answerOf, until } from "../world.mjs";
import { Meter } from "./meter.mjs";
import { atRest } from "./seed.mjs";

/** Turns that fill the state of a session, and their size. */
const TURNS = 5;
const TURN = "filler";
const TURN_CHARACTERS = 60_000;
/** Undone turns that a session keeps for Redo. */
const REDO_STEPS = 16;
/** Streams while its session is shown. */
const VISIT = "visit";
const VISIT_CHARACTERS = 800;

async function fill(world, count) {
  const sentence = "Herons stand in the reeds and wait. ";
  world.reciter.texts.set(TURN, sentence.repeat(Math.ceil(TURN_CHARACTERS / sentence.length)));
  world.reciter.texts.set(VISIT, sentence.repeat(Math.ceil(VISIT_CHARACTERS / sentence.length)));
  const sessions = [];
  for (let at = 0; at < count; at += 1) {
    const session = await world.session(`Visited ${at}`);
    for (let turn = 0; turn < TURNS; turn += 1)
      await world.ask("POST", `/sessions/${session}/messages`, { text: `recite ${TURN} ahead 100000` });
    sessions.push(session);
  }
  for (const session of sessions) await atRest(world, session);
  for (let step = 0; step < REDO_STEPS; step += 1) {
    for (const session of sessions)
      await world.ask("POST", `/sessions/${session}/messages`, { text: `recite ${VISIT} ahead 100000` });
    for (const session of sessions) {
      await atRest(world, session);
      await world.ask("POST", `/sessions/${session}/undo`, {});
    }
  }
  return sessions;
}

/** Navigates to a session as a link does, watches an answer to its end, and undoes the turn. */
async function visit(page, world, session) {
  await page.evaluate((session) => history.pushState({}, "", `/s/${session}`), session);
  await until("the session is shown", async () => (await answerOf(page)).length > 0, 60_000);
  const newest = page.locator("article[data-turn]").last();
  const before = await newest.getAttribute("data-turn");
  await world.ask("POST", `/sessions/${session}/messages`, { text: `recite ${VISIT} pace 10` });
  await atRest(world, session);
  const isNew = async () => Number(await newest.getAttribute("data-turn")) > Number(before);
  await until(
    "its answer is shown",
    async () => (await isNew()) && (await answerOf(page)).length >= VISIT_CHARACTERS,
    60_000,
  );
  await world.ask("POST", `/sessions/${session}/undo`, {});
  await until("the turn is undone", async () => (await newest.getAttribute("data-turn")) === before, 60_000);
}

/**
 * Returns the heap in megabytes after every session was visited and the engine warmed up for a tenth of `seconds`, and
 * after `seconds` of further visits.
 */
export async function openForLong(world, page, { count, seconds }) {
  const sessions = await fill(world, count);
  const meter = await Meter.of(page);
  let visits = 0;
  const visitNext = async () => {
    await visit(page, world, sessions[visits % count]);
    visits += 1;
  };
  const visitFor = async (seconds) => {
    const deadline = performance.now() + seconds * 1_000;
    while (performance.now() < deadline) await visitNext();
  };
  while (visits < count) await visitNext();
  await visitFor(seconds / 10);
  const before = await meter.heap();
  const warmUp = visits;
  await visitFor(seconds);
  return { before, after: await meter.heap(), visits: visits - warmUp };
}
