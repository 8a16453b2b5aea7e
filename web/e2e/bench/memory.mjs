// Memory of one tab that stays open while answers stream in and many sessions are visited. Every session is filled up to
// what a page keeps of it before the first measurement, so that a page that lets go of sessions stays as large as it was.

import { answerOf, until } from "../world.mjs";
import { Meter } from "./meter.mjs";
import { atRest } from "./seed.mjs";

/** Turns of this size fill the state of a session. */
const TURNS = 5;
const TURN = "filler";
const TURN_CHARACTERS = 60_000;
/** An answer that streams while its session is shown. */
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
  return sessions;
}

/** Goes to a session as a link does, and watches an answer to its end. */
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
}

/** Megabytes after every session was visited once, and after further visits for so many seconds. */
export async function openForLong(world, page, { count, seconds }) {
  const sessions = await fill(world, count);
  const meter = await Meter.of(page);
  for (const session of sessions) await visit(page, world, session);
  const before = await meter.heap();
  const deadline = performance.now() + seconds * 1_000;
  let visits = 0;
  while (performance.now() < deadline) {
    await visit(page, world, sessions[visits % count]);
    visits += 1;
  }
  return { before, after: await meter.heap(), visits };
}
