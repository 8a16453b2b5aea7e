import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { loadWithRetry } from "./load";

const online = new EventTarget();

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("addEventListener", online.addEventListener.bind(online));
  vi.stubGlobal("removeEventListener", online.removeEventListener.bind(online));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function failing(times: number) {
  let left = times;
  return vi.fn(async () => {
    left -= 1;
    if (left >= 0) throw new TypeError("Failed to fetch dynamically imported module");
    return "the part";
  });
}

test("a part that cannot be loaded is tried again until it can", async () => {
  const load = failing(7);
  const part = loadWithRetry(load);
  await vi.advanceTimersByTimeAsync(500 + 1_000 + 2_000 + 4 * 5_000);
  expect(await part).toBe("the part");
  expect(load).toHaveBeenCalledTimes(8);
});

test("a part is tried at once when the browser is online again", async () => {
  const load = failing(1);
  const part = loadWithRetry(load);
  await vi.advanceTimersByTimeAsync(1);
  online.dispatchEvent(new Event("online"));
  expect(await part).toBe("the part");
});
