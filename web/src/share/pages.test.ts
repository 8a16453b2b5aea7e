import { describe, expect, it } from "vitest";

import type { TurnView } from "../log/types";
import { isLive, PAGE, renewed, withEarlier, type Read } from "./pages";

const turn = (id: number, rest: Partial<TurnView> = {}): TurnView => ({
  turn: id,
  posted_at: id,
  message: { text: `said ${id}` } as TurnView["message"],
  answer: null,
  marker: null,
  alternatives: [],
  ...rest,
});
const turns = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => turn(from + at));
const ids = ({ turns }: Read) => turns.map(({ turn }) => turn);

describe("a session that is read by a link", () => {
  it("begins with the newest turns", () => {
    expect(renewed(undefined, turns(1, 3))).toEqual({ turns: turns(1, 3), more: false });
    expect(renewed(undefined, turns(1, PAGE)).more).toBe(true);
    expect(renewed(undefined, [])).toEqual({ turns: [], more: false });
  });

  it("keeps earlier turns when the newest come again", () => {
    const first = renewed(undefined, turns(51, 100));
    const both = withEarlier(first, turns(31, 50));
    expect([ids(both)[0], both.more]).toEqual([31, false]);
    const later = renewed(both, turns(53, 102));
    expect(ids(later)).toEqual(ids({ turns: turns(31, 102), more: false }));
    expect(later.more).toBe(false);
  });

  it("forgets what was taken back", () => {
    const known = withEarlier(renewed(undefined, turns(51, 100)), turns(1, 50));
    const after = renewed(known, turns(50, 99));
    expect(ids(after).at(-1)).toBe(99);
    expect(ids(renewed(known, turns(1, 10)))).toEqual(ids({ turns: turns(1, 10), more: false }));
  });

  it("leaves no gap when more came than a page holds", () => {
    const after = renewed(renewed(undefined, turns(1, 50)), turns(101, 150));
    expect([ids(after)[0], after.more]).toEqual([101, true]);
  });

  it("knows what is still being written", () => {
    const answer = { run: 2, parts: [], complete: false };
    expect(isLive(turn(1))).toBe(true);
    expect(isLive(turn(1, { answer }))).toBe(true);
    expect(isLive(turn(1, { answer: { ...answer, complete: true } }))).toBe(false);
    expect(isLive(turn(1, { marker: { kind: "stopped", run: 2, at: 1, text: "" } }))).toBe(false);
  });
});
