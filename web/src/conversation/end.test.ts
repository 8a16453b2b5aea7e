import { expect, it } from "vitest";

import type { Part, TurnView } from "../log/types";
import { hasGrown, writtenIn } from "./end";

const turn = (id: number, run: number, parts: object[]) =>
  ({ turn: id, answer: { run, parts: parts as Part[] } }) as TurnView;
const before = writtenIn(turn(1, 1, [{ text: "a heron" }]));
const grown = (later: TurnView | undefined) => hasGrown(before, writtenIn(later));

it("tells new text from anything else that changes", () => {
  expect(grown(turn(1, 1, [{ text: "a heron" }]))).toBe(false);
  expect(grown(turn(1, 1, [{ text: "a heron" }, { call: { tool: "clock" } }]))).toBe(false);
  expect(grown(turn(1, 1, [{ text: "a heron stands" }]))).toBe(true);
  expect(grown(turn(1, 1, [{ text: "a heron" }, { reasoning: "why" }]))).toBe(true);
});

it("counts another answer and another turn from their beginning", () => {
  expect(grown(turn(1, 2, []))).toBe(false);
  expect(grown(turn(1, 2, [{ text: "a" }]))).toBe(true);
  expect(grown(turn(2, 3, []))).toBe(true);
});
