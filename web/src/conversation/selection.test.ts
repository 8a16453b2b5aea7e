import { expect, it } from "vitest";

import type { TurnView } from "../log/types";
import { turnsOf, type Span } from "./selection";

const turns = [3, 4, 5, 6].map((turn) => ({ turn }) as TurnView);
const ids = (span: Span) => turnsOf(span, turns).map(({ turn }) => turn);

it("takes every turn between the ends of a selection, also those that are not in the page", () => {
  expect(ids({ first: 4, last: 6 })).toEqual([4, 5, 6]);
  expect(ids({ first: 5, last: 5 })).toEqual([5]);
});

it("takes all where the selection goes on beyond the conversation", () => {
  expect(ids({ first: undefined, last: undefined })).toEqual([3, 4, 5, 6]);
  expect(ids({ first: 5, last: undefined })).toEqual([5, 6]);
  expect(ids({ first: undefined, last: 4 })).toEqual([3, 4]);
});

it("takes nothing of turns that are gone", () => {
  expect(ids({ first: 1, last: 4 })).toEqual([]);
  expect(ids({ first: 6, last: 4 })).toEqual([]);
});
