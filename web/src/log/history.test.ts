import { expect, test } from "vitest";

import { history, NOTHING } from "./history";
import type { Entry, Event } from "./types";

const said = (text: string) => ({ message: { text }, mode: "queue" });

/** A log of these events. */
function log(...events: unknown[]): Entry[] {
  return events.map((event, at) => ({ seq: at + 1, time: at + 1, event: event as Event }));
}

const TWO_TURNS = [
  { session_created: { id: "s" } },
  { message_posted: said("one") },
  { run_started: { turn: 2, run: 3, cause: "message" } },
  { run_ended: { turn: 2, run: 3, end: "completed" } },
  { message_posted: said("two") },
  { run_started: { turn: 5, run: 6, cause: "message" } },
  { run_ended: { turn: 5, run: 6, end: "completed" } },
];

const texts = (entries: Entry[]) =>
  history(NOTHING, entries).hidden.map(({ how, turns }) => [
    how,
    ...turns.map(({ message }) => message.text),
  ]);

test("turns that were taken back are in the history, also after something else was said", () => {
  const entries = log(
    ...TWO_TURNS,
    { turns_undone: { from: 5 } },
    { message_posted: said("three") },
    { run_started: { turn: 9, run: 10, cause: "message" } },
  );
  expect(texts(entries)).toEqual([["undone", "two"]]);
});

test("what was put back is no longer hidden", () => {
  expect(texts(log(...TWO_TURNS, { turns_undone: { from: 5 } }, { turns_put_back: { from: 5 } }))).toEqual(
    [],
  );
});

test("what an edit and a clearing took away is there", () => {
  const entries = log(
    ...TWO_TURNS,
    { message_edited: { turn: 5, message: { text: "two, better" } } },
    { run_started: { turn: 8, run: 9, cause: "message" } },
    { run_ended: { turn: 8, run: 9, end: "completed" } },
    { session_cleared: {} },
  );
  expect(texts(entries)).toEqual([
    ["edited", "two"],
    ["cleared", "one", "two, better"],
  ]);
});
