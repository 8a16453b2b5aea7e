import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { announce, said } from "./announce";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("replaces waiting news of the same topic, and keeps the others", () => {
  announce("Back.");
  vi.runAllTimers();
  announce("Pinned.");
  announce("Agent is writing.", "answer");
  announce("Stopped.", "answer");
  expect(said.getState().text).toBe("Back.");
  vi.runAllTimers();
  expect(said.getState().text).toBe("Pinned. Stopped.");
});
