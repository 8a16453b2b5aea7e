import { expect, it } from "vitest";

import { WHOLE_MAX, isWhole } from "./whole";

it("virtualizes a session that is opened with more than 200 turns", () => {
  expect(WHOLE_MAX).toBe(200);
  expect(isWhole(200, undefined)).toBe(true);
  expect(isWhole(201, undefined)).toBe(false);
});

it("keeps its form while a session grows or shrinks by a few turns", () => {
  expect(isWhole(201, true)).toBe(true);
  expect(isWhole(199, false)).toBe(false);
});

it("virtualizes a session that grows far beyond", () => {
  expect(isWhole(400, true)).toBe(true);
  expect(isWhole(401, true)).toBe(false);
});
