import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Gap, fold } from "./fold";
import { EMPTY } from "./empty";
import type { Entry, View } from "./types";
import { view } from "./view";

const fixtures = join(import.meta.dirname, "../../../fixtures");
const names = readdirSync(join(fixtures, "logs/v1")).map((file) => file.replace(".jsonl", ""));

function log(name: string): Entry[] {
  const lines = readFileSync(join(fixtures, "logs/v1", `${name}.jsonl`), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => JSON.parse(line) as Entry);
}

function golden(name: string): View {
  return JSON.parse(readFileSync(join(fixtures, "folds", `${name}.json`), "utf8")) as View;
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

describe("the fold", () => {
  it("has golden logs to be held to", () => expect(names.length).toBeGreaterThan(20));

  it.each(names)("sees what the server sees: %s", (name) => {
    expect(plain(view(fold(EMPTY, log(name))))).toEqual(golden(name));
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
});
