import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Gap, fold } from "./fold";
import { EMPTY } from "./empty";
import type { Entry, Part, Piece, State, View } from "./types";
import { variant } from "./variants";
import { turnView, view } from "./view";

const fixtures = join(import.meta.dirname, "../../../fixtures");
const names = readdirSync(join(fixtures, "logs/v1")).map((file) => file.replace(".jsonl", ""));

function log(name: string): Entry[] {
  const lines = readFileSync(join(fixtures, "logs/v1", `${name}.jsonl`), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as Entry);
}

function golden(folder: "folds", name: string): View;
function golden(folder: "states", name: string): State;
function golden(folder: string, name: string): unknown {
  return JSON.parse(readFileSync(join(fixtures, folder, `${name}.json`), "utf8"));
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("the fold", () => {
  it("has golden logs to be held to", () => expect(names.length).toBeGreaterThan(20));

  it.each(names)("sees what the server sees: %s", (name) => {
    expect(plain(view(fold(EMPTY, log(name))))).toEqual(golden("folds", name));
  });

  it.each(names)("leaves the state that the server's fold leaves: %s", (name) => {
    const { link, ...state } = golden("states", name);
    // Entries arrive without the epoch and hash of their link.
    expect(plain(fold(EMPTY, log(name)))).toEqual({ ...state, link: { ...EMPTY.link, seq: link.seq } });
  });

  it.each(names)("is the same however the log is cut, repeated and kept between: %s", (name) => {
    const entries = log(name);
    const whole = fold(EMPTY, entries);
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: entries.length }), { maxLength: 6 }),
        fc.nat({ max: 5 }),
        (cuts, repeated) => {
          let state = EMPTY;
          for (const cut of [...cuts.sort((a, b) => a - b), entries.length]) {
            const from = Math.max(0, state.link.seq - repeated);
            state = fold(plain(state) as typeof EMPTY, entries.slice(from, Math.max(cut, state.link.seq)));
          }
          expect(plain(state)).toEqual(plain(whole));
        },
      ),
      { numRuns: 40 },
    );
  });

  it("refuses a log with a gap", () => {
    const entries = log("a_turn_with_a_tool");
    expect(() => fold(EMPTY, entries.toSpliced(3, 1))).toThrow(Gap);
  });

  it("gives the turns that did not change as they were", () => {
    const entries = log("alternatives");
    const before = fold(EMPTY, entries.slice(0, -1));
    const after = fold(before, entries);
    const same = after.turns.filter((turn) => before.turns.includes(turn));
    expect(view(after).turns.filter((turn) => view(before).turns.includes(turn)).length).toBe(same.length);
  });

  it.each(names)("keeps its words between entries of a newer version: %s", (name) => {
    const entries = log(name);
    let before = EMPTY;
    for (const entry of entries) {
      const words = wordsIn(onPage(before));
      for (const event of [...UNKNOWN, ...replacements(entry.event)]) {
        const state = fold(before, [{ ...entry, event: event as Entry["event"] }]);
        expect(missing(words, onPage(state)), JSON.stringify(event)).toEqual([]);
        expect(view(state).seq).toBe(entry.seq);
        expect(view(fold(state, entries.slice(entry.seq))).seq).toBe(entries.length);
      }
      before = fold(before, [entry]);
    }
  });

  it.each(names)("shows every word of a state of a newer version, and goes on from it: %s", (name) => {
    const entries = log(name);
    const states = [EMPTY];
    for (const entry of entries) states.push(fold(states.at(-1) ?? EMPTY, [entry]));
    const whole = onPage(states.at(-1) ?? EMPTY);
    fc.assert(
      fc.property(fc.nat({ max: entries.length }), fc.nat(), (at, choice) => {
        const state = states[at] ?? EMPTY;
        const others = replacements(state);
        const other = others[choice % Math.max(1, others.length)] as State | undefined;
        if (other === undefined) return;
        const shown = onPage(state);
        const known = wordsOf(other);
        expect(
          missing(
            known.filter((word) => shown.includes(word)),
            onPage(other),
          ),
        ).toEqual([]);
        const end = fold(other, entries.slice(at));
        expect(end.link.seq).toBe(entries.length);
        expect(
          missing(
            known.filter((word) => whole.includes(word)),
            onPage(end),
          ),
        ).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

const UNKNOWN = ["zz_new", { zz_new: {} }];
/** The variants of every stored enum, as the server lists them. */
const VARIANTS = new Set(readFileSync(join(fixtures, "state.txt"), "utf8").match(/(?<=::)\w+/g));
/** Structs to skip: a message with only a text looks like a variant. */
const STRUCTS = ["message"];

function isVariant(value: unknown): boolean {
  if (typeof value === "string") return VARIANTS.has(value);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const [name, ...others] = Object.keys(value);
  return name !== undefined && others.length === 0 && VARIANTS.has(name);
}

/** Returns whether a field ends a continuation. The server, too, holds back part of one until its run is complete. */
function endsContinuation(name: string, run: object): boolean {
  return name === "end" && "asked_to_continue" in run && run.asked_to_continue === true;
}

/** Returns copies of a value, each with one variant, at any depth, replaced by one of a newer version. */
function replacements(value: unknown): unknown[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const others =
      isVariant(field) && !STRUCTS.includes(name) && !endsContinuation(name, value) ? UNKNOWN : [];
    return [...others, ...replacements(field)].map((other) =>
      Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other },
    );
  });
}

/** Returns the words of all messages and answers in a state. */
function wordsOf({ turns, queue }: State): string[] {
  const pieces = turns.flatMap(({ runs }) => runs.flatMap(({ pieces }) => pieces));
  const messages = [...turns, ...queue].map(({ message }) => message.text);
  return wordsIn([...messages, ...pieces.flatMap((piece) => writtenIn(piece))].join("\n"));
}

/** Returns all text that a reader can reach: the view and every alternative answer. */
function onPage(state: State): string {
  const { turns, queue } = view(state);
  const answers = state.turns.flatMap((turn) =>
    turnView(turn).alternatives.map((chosen) => turnView({ ...turn, chosen })),
  );
  const texts = [...turns, ...answers].flatMap(({ message, answer }) => [
    message.text,
    ...(answer?.parts ?? []).flatMap((part) => writtenIn(part)),
  ]);
  return [...texts, ...queue.map(({ message }) => message.text)].join("\n");
}

function writtenIn(piece: Piece | Part): string[] {
  const text =
    variant(piece, "text") ?? variant(piece, "reasoning") ?? variant(piece, "steered")?.message.text;
  return text === undefined ? [] : [text];
}

function wordsIn(text: string): string[] {
  return [...new Set(text.split(/\s+/))];
}

function missing(words: readonly string[], shown: string): string[] {
  return words.filter((word) => !shown.includes(word));
}
