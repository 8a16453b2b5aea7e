import { expect, test } from "vitest";

import { figuresOf, lineOf } from "./plot";

const BOX = { width: 100, height: 40 };

test("time goes from left to right, and the top is the highest value", () => {
  const points = [
    { at: 1_000, value: 0 },
    { at: 2_000, value: 5 },
    { at: 5_000, value: 10 },
  ];
  expect(lineOf(points, BOX, 10)).toBe("0,40 25,20 100,0");
});

test("a line stands on zero, not on its lowest value", () => {
  const points = [
    { at: 0, value: 8 },
    { at: 10, value: 10 },
  ];
  expect(lineOf(points, BOX, 10)).toBe("0,8 100,0");
});

test("what is beyond the top stays in the box, and nothing divides by zero", () => {
  expect(lineOf([{ at: 7, value: 3 }], BOX, 3)).toBe("100,0");
  expect(lineOf([{ at: 7, value: 9 }], BOX, 3)).toBe("100,0");
  const idle = [
    { at: 0, value: 0 },
    { at: 5, value: 0 },
  ];
  expect(lineOf(idle, BOX, 0)).toBe("0,40 100,40");
  expect(lineOf([], BOX, 1)).toBe("");
});

test("the lowest, the highest and the newest are told", () => {
  const points = [4, 9, 2, 5].map((value, at) => ({ at, value }));
  expect(figuresOf(points)).toEqual({ least: 2, most: 9, now: 5 });
  expect(figuresOf([])).toBeUndefined();
});
