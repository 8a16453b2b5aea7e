// A session of many turns, made over the public API as a person would: message by message, each answered by the model.

import { ANSWERS } from "./texts.mjs";
import { until } from "../world.mjs";

/** What the message of a turn says, from 1. */
export const question = (turn) => `recite answer-${turn % ANSWERS.length} ahead 100000, question ${turn}.`;

/** With so many turns, or as many as were taken in so many seconds: CI has disks that are slow. */
export async function longSession(world, { turnsMax, secondsMax }) {
  for (const [at, answer] of ANSWERS.entries()) world.reciter.texts.set(`answer-${at}`, answer);
  const session = await world.session("A long one");
  const deadline = performance.now() + secondsMax * 1_000;
  let turns = 0;
  while (turns < turnsMax && performance.now() < deadline) {
    const text = question(turns + 1);
    // Refused while a hundred wait already.
    await until("taken", () => world.ask("POST", `/sessions/${session}/messages`, { text }), 60_000);
    turns += 1;
  }
  await atRest(world, session);
  return { session, turns };
}

/** Nothing runs and nothing waits. */
export async function atRest(world, session) {
  await until(
    "the session is at rest",
    async () => {
      const { run, queue } = await world.ask("GET", `/sessions/${session}`);
      return run === null && queue.length === 0;
    },
    120_000,
  );
}
