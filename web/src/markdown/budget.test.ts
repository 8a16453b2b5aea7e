import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { inSlices } from "./budget";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.runAllTimers();
  vi.useRealTimers();
});

it("spreads expensive work over tasks, in order", () => {
  const done: number[] = [];
  let spent = 0;
  const job = (no: number) => () => {
    spent += 6;
    done.push(no);
  };
  vi.spyOn(performance, "now").mockImplementation(() => spent);
  [1, 2, 3, 4, 5].forEach((no) => inSlices(job(no)));
  expect(done).toEqual([1, 2]);
  vi.runOnlyPendingTimers();
  expect(done).toEqual([1, 2, 3, 4]);
  vi.runOnlyPendingTimers();
  expect(done).toEqual([1, 2, 3, 4, 5]);
});

it("leaves out what was canceled", () => {
  const done: number[] = [];
  let spent = 0;
  vi.spyOn(performance, "now").mockImplementation(() => spent);
  inSlices(() => (spent += 20));
  const cancel = inSlices(() => done.push(1));
  inSlices(() => done.push(2));
  cancel();
  vi.runAllTimers();
  expect(done).toEqual([2]);
});
