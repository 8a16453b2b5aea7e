import { describe, expect, it } from "vitest";

import type { TurnView } from "../log/types";
import { isUnfinished, renewed, withEarlier, type Read } from "./pages";

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
const read = (from: number, to: number, earlier = true): Read => ({ turns: turns(from, to), earlier });
const ids = ({ turns }: Read) => turns.map(({ turn }) => turn);

describe("a session that is read by a link", () => {
  it("begins with the newest turns", () => {
    expect(renewed(undefined, read(1, 3, false))).toEqual(read(1, 3, false));
    expect(renewed(undefined, read(1, 50)).earlier).toBe(true);
    expect(renewed(undefined, read(1, 0, false))).toEqual({ turns: [], earlier: false });
  });

  it("keeps earlier turns when the newest come again", () => {
    const first = renewed(undefined, read(51, 100));
    const both = withEarlier(first, read(31, 50, false));
    expect([ids(both)[0], both.earlier]).toEqual([31, false]);
    const later = renewed(both, read(53, 102));
    expect(ids(later)).toEqual(ids(read(31, 102)));
    expect(later.earlier).toBe(false);
  });

  it("forgets what was taken back", () => {
    const known = withEarlier(renewed(undefined, read(51, 100)), read(1, 50, false));
    const after = renewed(known, read(50, 99));
    expect(ids(after).at(-1)).toBe(99);
    expect(ids(renewed(known, read(1, 10, false)))).toEqual(ids(read(1, 10)));
  });

  it("leaves no gap when more came than a page holds", () => {
    const after = renewed(renewed(undefined, read(1, 50)), read(101, 150));
    expect([ids(after)[0], after.earlier]).toEqual([101, true]);
  });

  it("knows what is still being written", () => {
    const answer = { run: 2, parts: [], complete: false };
    expect(isUnfinished(turn(1))).toBe(true);
    expect(isUnfinished(turn(1, { answer }))).toBe(true);
    expect(isUnfinished(turn(1, { answer: { ...answer, complete: true } }))).toBe(false);
    expect(isUnfinished(turn(1, { marker: { kind: "stopped", run: 2, at: 1, text: "" } }))).toBe(false);
  });
});
