// An answer that was cut and continued is the uncut answer: the same tokens, the same page, the same copy, except for the
// knots in the margin. Every case goes from the log to the markup.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it, vi } from "vitest";

import { Parts } from "../conversation/Parts";
import { reader } from "../markdown/reader";
import { EMPTY } from "./empty";
import { fold } from "./fold";
import { proseOf } from "./prose";
import { join as joinSeam } from "./seam";
import type { Entry, Event, TurnView } from "./types";
import { view } from "./view";

const folder = join(import.meta.dirname, "../../../fixtures/answers");
const answers = readdirSync(folder).map((name) => ({
  name: name.replace(".md", ""),
  text: readFileSync(join(folder, name), "utf8"),
}));

/** Thousands of answers take long on a machine that is busy. */
vi.setConfig({ testTimeout: 60_000 });

interface Run {
  text: string;
  asked?: boolean;
}

/** The turn that these runs answer; all but the last were interrupted. */
function turnOf(runs: readonly Run[]): TurnView {
  const events: unknown[] = [{ message_posted: { message: { text: "tell me" }, mode: "queue" } }];
  for (const [at, { text, asked = false }] of runs.entries()) {
    const run = events.length + 1;
    const end = at === runs.length - 1 ? "completed" : { interrupted: { reason: "crash", progress: true } };
    events.push(
      { run_started: { turn: 1, cause: at === 0 ? "message" : "continue" } },
      { step_started: { run, step: 1, ...(asked ? { asked_to_continue: true } : {}) } },
      { text_added: { run, text } },
      { run_ended: { turn: 1, run, end } },
    );
  }
  const entries: Entry[] = events.map((event, at) => ({ seq: at + 1, time: at + 1, event: event as Event }));
  const [turn] = view(fold(EMPTY, entries)).turns;
  if (turn === undefined) throw new Error("the log has no turn");
  return turn;
}

const KNOTS = /<span class="cuts">(?:<span class="cut"[^>]*><\/span>)+<\/span>/g;

/** All that a person gets of an answer. */
function shown(turn: TurnView) {
  const { parts = [], interruptions } = turn.answer ?? {};
  const markup = renderToStaticMarkup(createElement(Parts, { parts, interruptions, live: false }));
  const copied = proseOf(turn);
  return { copied, tokens: reader.lexer(copied), markup: markup.replace(KNOTS, "") };
}

const knotsIn = (turn: TurnView) => {
  const { parts = [], interruptions } = turn.answer ?? {};
  const markup = renderToStaticMarkup(createElement(Parts, { parts, interruptions, live: false }));
  return markup.match(/class="cut"/g)?.length ?? 0;
};

/** Positions between characters, `step` apart. */
function positions(letters: readonly string[], from: number, step: number): number[] {
  const all: number[] = [];
  for (let at = from; at < letters.length; at += step) all.push(at);
  return all;
}

const SORRY = [
  "Sorry for the interruption. Continuing where I left off:\n\n",
  "I apologize, my answer was cut off. ",
  "Sure, I will continue from there.\n\n",
];

/** The code fence in which a text ends, if it does. */
function fenceAt(text: string): string | undefined {
  let open: string | undefined;
  for (const line of text.split("\n")) {
    const signs = /^(`{3,}|~{3,})/.exec(line)?.[1];
    if (signs === undefined) continue;
    if (open === undefined) open = line;
    else if (line === /^(`+|~+)/.exec(open)?.[0]) open = undefined;
  }
  return open;
}

let cuts = 0;

describe.each(answers)("$name, cut and continued", ({ text }) => {
  const letters = [...text];
  const whole = shown(turnOf([{ text }]));
  const slice = (from: number, to?: number) => letters.slice(from, to).join("");
  const same = (runs: Run[], at: number) => {
    cuts += runs.length - 1;
    const turn = turnOf(runs);
    const now = shown(turn);
    // Compared as text first: a matcher takes several times as long for what is the same.
    if (JSON.stringify(now) === JSON.stringify(whole)) return turn;
    expect(now, `cut at ${at}: ${JSON.stringify(runs.map((run) => run.text))}`).toEqual(whole);
    return turn;
  };

  it("by a model that takes a prefix, is the uncut answer", () => {
    for (const at of positions(letters, 1, 5)) same([{ text: slice(0, at) }, { text: slice(at) }], at);
  });

  it("twice, is the uncut answer with two knots", () => {
    for (const at of positions(letters, 3, 41)) {
      const next = Math.min(letters.length - 1, at + 1 + (at % 90));
      const runs = [slice(0, at), slice(at, next), slice(next)].filter((text) => text !== "");
      const turn = same(
        runs.map((text) => ({ text })),
        at,
      );
      expect(knotsIn(turn)).toBe(runs.length - 1);
    }
  });

  it("by a model that repeats the last words, is the uncut answer", () => {
    for (const at of positions(letters, 30, 7)) {
      const tail = slice(Math.max(0, at - 20 - (at % 101)), at);
      same([{ text: slice(0, at) }, { text: tail + slice(at), asked: true }], at);
    }
  });

  it("by a model that apologizes and repeats, is the uncut answer", () => {
    for (const at of positions(letters, 50, 11)) {
      const tail = slice(Math.max(0, at - 40 - (at % 81)), at);
      const sorry = SORRY[at % SORRY.length] ?? "";
      same([{ text: slice(0, at) }, { text: sorry + tail + slice(at), asked: true }], at);
    }
  });

  it("by a model that opens the fence again, is the uncut answer", () => {
    for (const at of positions(letters, 30, 3)) {
      const before = slice(0, at);
      const fence = fenceAt(before);
      if (fence === undefined) continue;
      const code = before.slice(before.lastIndexOf(fence) + fence.length + 1);
      if (code === "") continue;
      // At the beginning of a line it goes on; inside of one it repeats the code so far.
      if (before.endsWith("\n")) {
        if (/[a-z]$/.test(fence))
          same([{ text: before }, { text: `${fence}\n${slice(at)}`, asked: true }], at);
      } else if ([...code.trimStart()].length >= 8) {
        const tail = [...code].slice(-120).join("");
        same([{ text: before }, { text: `${fence}\n${tail}${slice(at)}`, asked: true }], at);
      }
    }
  });
});

describe.each(answers)("$name, while it is continued", ({ text }) => {
  it("never takes back what was shown", () => {
    const letters = [...text];
    for (const at of positions(letters, 60, 53)) {
      const before = letters.slice(0, at).join("");
      const tail = letters.slice(Math.max(0, at - 20 - (at % 101)), at).join("");
      const rest = letters.slice(at, at + 500).join("");
      for (const said of [tail + rest, `${SORRY[at % SORRY.length]}${tail}${rest}`, rest]) {
        const coming = [...said];
        let seen = before;
        for (let count = 0; count <= coming.length; count += 7) {
          const now = joinSeam(before, coming.slice(0, count).join(""), "unfinished");
          expect(now.startsWith(seen), `cut at ${at}, ${count} characters later`).toBe(true);
          seen = now;
        }
        expect(joinSeam(before, said, "completed").startsWith(seen)).toBe(true);
      }
    }
  });
});

it("covers twelve answers and two thousand cuts", () => {
  expect(answers.length).toBeGreaterThanOrEqual(12);
  expect(cuts).toBeGreaterThan(2_000);
});
