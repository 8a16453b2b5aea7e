import { expect, it } from "vitest";

import { beyond, happeningIn, together } from "./happening";
import { sampleLine } from "./sampleLine";
import type { Line } from "./types";

const line = (more: Partial<Line>) => sampleLine("a", more);

it("counts active lines alone", () => {
  const lines = [line({ run: 1 }), line({ run: 2, trashed: true }), line({ needs: "failed" }), line({})];
  expect(happeningIn(lines)).toEqual({ live: 1, needs_you: 1 });
});

it("ends a run the moment its line does, whatever the server counted before", () => {
  const counted = { live: 1, needs_you: 0 };
  const all = happeningIn([line({})]);
  expect(together(all, beyond(counted, all, false)).live).toBe(0);
});

it("adds what pages have not brought yet", () => {
  const listed = happeningIn([line({ run: 1 })]);
  const unlisted = beyond({ live: 3, needs_you: 2 }, listed, true);
  expect(together(listed, unlisted)).toEqual({ live: 3, needs_you: 2 });
  expect(together(happeningIn([line({})]), unlisted)).toEqual({ live: 2, needs_you: 2 });
});
