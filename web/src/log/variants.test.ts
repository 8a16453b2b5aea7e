import { expect, test } from "vitest";

import { EMPTY } from "./empty";
import { fold } from "./fold";
import type { Entry, Event, TagState } from "./types";
import { view } from "./view";

/** A log of these events. */
function log(...events: unknown[]): Entry[] {
  return events.map((event, at) => ({ seq: at + 1, time: at + 1, event: event as Event }));
}

const posted = (text: string) => ({ message_posted: { message: { text }, mode: "queue" } });

test.each(["eclipse", { eclipse: { at: 1 } }])(
  "a variant of a newer version is read as other: %j",
  (other) => {
    const entries = log(
      { session_created: { id: "s" } },
      { message_posted: { message: { text: "one" }, mode: other } },
      { run_started: { turn: 2, cause: "message" } },
      { call_finished: { run: 3, call: 1, outcome: { status: other, content: "noon" } } },
      { run_ended: { turn: 2, run: 3, end: other } },
      { run_started: { turn: 2, cause: other } },
      { run_ended: { turn: 2, run: 6, end: { interrupted: { reason: other, recovering: true } } } },
      { recovery_settled: { turn: 2, run: 6, outcome: other } },
      { flag_set: { flag: other, on: true } },
      { delivery_owed: { turn: 2, answer: 3, to: { chat: "c", message: "m", peer: "p" } } },
      { delivery_ended: { answer: 3, outcome: other } },
      { answer_chosen: { turn: 2, run: 3 } },
    );
    const state = fold(EMPTY, entries);
    const [turn] = view(state).turns;
    expect(turn?.alternatives).toEqual([3, 6]);
    expect(turn?.marker?.kind).toBe("other");
    expect(turn?.answer?.parts).toMatchObject([{ call: { state: "finished", result: "noon" } }]);
    expect(view(fold(EMPTY, entries.slice(0, -1))).turns[0]?.marker).toMatchObject({
      kind: "interrupted",
      reason: other,
      text: "Interrupted.",
    });
    expect([state.pinned, state.archived, state.trashed]).toEqual([false, false, false]);
    expect(state.deliveries?.[0]?.outcome).toEqual(other);
    expect(state.needs).toBeNull();
  },
);

test.each(["eclipse", { eclipse: { held: "" } }])(
  "text that follows an unknown tag state is shown: %j",
  (other) => {
    const before = fold(EMPTY, log(posted("one"), { run_started: { turn: 1, cause: "message" } }));
    const turns = before.turns.map((turn) => ({
      ...turn,
      runs: turn.runs.map((run) => ({ ...run, tags: other as TagState })),
    }));
    const event = { text_added: { run: 2, text: "herons" } } as Event;
    const state = fold({ ...before, turns }, [{ seq: 3, time: 3, event }]);
    expect(view(state).turns[0]?.answer?.parts).toEqual([{ text: "herons" }]);
  },
);

test("a commit that ended in an unknown way stays owed", () => {
  const entries = log(
    posted("one"),
    { memory_owner_set: { owner: "notes" } },
    { run_started: { turn: 1, cause: "message" } },
    { run_ended: { turn: 1, run: 3, end: "completed" } },
    { memory_commit_started: { owner: "notes", first: 1, last: 1 } },
    { memory_commit_ended: { commit: 5, first: 1, last: 1, outcome: "eclipse" } },
  );
  expect(view(fold(EMPTY, entries)).owed).toMatchObject([{ owner: "notes", turns: 1 }]);
});

test("Stop pauses what waits, and what comes later is not paused", () => {
  const entries = log(posted("one"), { queue_paused: {} }, posted("two"), { queue_resumed: {} });
  const paused = (count: number) =>
    view(fold(EMPTY, entries.slice(0, count))).queue.map((queued) => queued.paused);
  expect(paused(3)).toEqual([true, undefined]);
  expect(paused(4)).toEqual([undefined, undefined]);
});

test("a paused message that is to steer is paused no longer", () => {
  const edited = (mode?: string) => ({ queued_edited: { turn: 1, message: { text: "one" }, mode } });
  const paused = (...events: unknown[]) => view(fold(EMPTY, log(posted("one"), ...events))).queue[0]?.paused;
  expect(paused({ queue_paused: {} }, edited())).toBe(true);
  expect(paused({ queue_paused: {} }, edited("steer"))).toBeUndefined();
});

test("a session is named after its first line until there is a better name", () => {
  const titles = (...events: unknown[]) => view(fold(EMPTY, log(...events))).title;
  const long = "Please compare the three heron colonies of the lake and tell me which one grows";
  expect(titles(posted("\n  \n  Count the herons \nand the terns"))).toBe("Count the herons");
  expect(titles(posted(" \n"))).toBeNull();
  expect(titles(posted(" \n"), posted("Terns"))).toBe("Terns");
  expect(titles(posted(long))).toBe("Please compare the three heron colonies of the lake and…");
  expect(titles(posted("鷺".repeat(61)))).toBe(`${"鷺".repeat(60)}…`);
  expect(titles(posted("one"), { title_generated: { title: "Herons" } }, posted("two"))).toBe("Herons");
  const branch = { session_branched: { id: "b", from: "s", at: 1 } };
  expect(fold(EMPTY, log(posted("one"), branch)).title).toEqual({ provisional: "one" });
  expect(fold(EMPTY, log({ session_renamed: { title: "Herons" } }, branch)).title).toEqual({
    generated: "Herons",
  });
});

test("an answer is stuck after three interruptions without output", () => {
  const row = (...ends: unknown[]) => {
    const runs = ends.flatMap((end, at) => [
      { run_started: { turn: 1, cause: at === 0 ? "message" : "resume" } },
      { run_ended: { turn: 1, run: 2 * at + 2, end } },
    ]);
    return fold(EMPTY, log(posted("one"), ...runs));
  };
  const cut = (progress: boolean) => ({ interrupted: { reason: "crash", progress } });
  expect(row(cut(false), cut(false)).interrupted_in_a_row).toBe(2);
  expect(view(row(cut(false), cut(false))).stuck).toBeUndefined();
  expect(view(row(cut(false), cut(false), cut(false))).stuck).toBe(true);
  expect(row(cut(false), cut(false), cut(true)).interrupted_in_a_row).toBe(1);
  expect(view(row(cut(false), cut(false), cut(false), { stopped: {} })).stuck).toBeUndefined();
  const limit = { output_limit: { tokens: 1024 } };
  expect(row(cut(false), limit).interrupted_in_a_row).toBe(0);
  expect(row(cut(false), limit).needs).toBeNull();
});
