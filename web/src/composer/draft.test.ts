import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStore, type StoreApi } from "zustand/vanilla";

import { Refused } from "../api/client";
import type { Known } from "../live/store";
import { LocalDrafts } from "../storage/drafts";
import { forgetStorage, inMemory } from "../storage/local";
import type { Tab } from "../storage/tab";
import { SessionDraft } from "./draft";

// Importing the real store needs a page.
vi.mock("../live/store", () => ({ DEVICE: "here", store: undefined }));
const server = vi.hoisted(() => ({ put: vi.fn<(body: unknown) => Promise<{ revision: number }>>() }));
vi.mock("../api/client", async (original) => ({
  ...(await original<typeof import("../api/client")>()),
  ask: (_: string, __: string, { body }: { body: unknown }) => server.put(body),
}));

const tab: Tab = { id: "t", before: undefined, ifClosed: undefined };
let store: StoreApi<Known>;
let draft: SessionDraft;
let local: LocalDrafts;
let leave: () => void;

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
  const known = { link: { kind: "open" }, fresh: {}, drafts: {} };
  store = createStore(() => known as unknown as Known);
  let revision = 1;
  server.put.mockReset().mockImplementation(async () => ({ revision: (revision += 1) }));
  local = new LocalDrafts("heron", tab);
  draft = new SessionDraft("s", local, store);
  leave = draft.start();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function told(text: string, revision = 1, device: string | null = null): void {
  store.setState({ drafts: { s: { session: "s", text, revision, device } } });
}

test("the server gets the text once after a pause, as a change of what it told last", async () => {
  told("");
  for (const text of ["h", "ha", "half"]) {
    draft.write(text);
    await vi.advanceTimersByTimeAsync(200);
  }
  expect(server.put).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(300);
  expect(server.put.mock.calls).toEqual([[{ text: "half", base: 1, device: "here" }]]);
  expect(draft.kept).toBe("server");
  draft.write("half a");
  expect(draft.kept).toBe("here");
  await vi.advanceTimersByTimeAsync(500);
  expect(server.put).toHaveBeenLastCalledWith({ text: "half a", base: 2, device: "here" });
});

test("nothing is sent before the server told what it has, nor while it is away", async () => {
  draft.write("half");
  await vi.advanceTimersByTimeAsync(5_000);
  store.setState({ link: { kind: "away", since: 0 } });
  told("");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(server.put).not.toHaveBeenCalled();
  store.setState({ link: { kind: "open" } });
  await vi.advanceTimersByTimeAsync(500);
  expect(server.put).toHaveBeenCalledOnce();
});

test("a request that is lost is repeated with the newest text, a refused one is not", async () => {
  told("");
  server.put.mockRejectedValueOnce(new TypeError("Failed to fetch"));
  draft.write("half");
  await vi.advanceTimersByTimeAsync(600);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(server.put).toHaveBeenCalledTimes(2);
  server.put.mockRejectedValueOnce(new Refused(413, "too_large", "Too large."));
  draft.write("half a");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.put).toHaveBeenCalledTimes(3);
  expect(draft.kept).toBe("here");
});

test("words of another device are taken in, and this device's own are not", () => {
  told("half", 2, "phone");
  expect(draft.text).toBe("half");
  told("other", 3, "here");
  expect(draft.text).toBe("half");
  told("late", 3, "phone");
  expect(draft.text).toBe("half");
});

test("leaving the session writes the text at once", () => {
  draft.write("the last word");
  expect(localStorage.getItem("draft:heron:s:t")).toBeNull();
  leave();
  expect(localStorage.getItem("draft:heron:s:t")).toBe("the last word");
});

test("it says that there is no room, until there is", () => {
  const setItem = vi.spyOn(localStorage, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  draft.write("half");
  draft.save();
  expect(draft.kept).toBe("nowhere");
  setItem.mockRestore();
  draft.save();
  expect(draft.kept).toBe("here");
});

test("typing does not change the result for a subscriber that checks for text", () => {
  const pick = vi.fn(() => /\S/.test(draft.text));
  const seen: boolean[] = [];
  draft.subscribe(() => seen.push(pick()));
  for (const text of ["h", "ha", "half"]) draft.write(text);
  expect(new Set(seen)).toEqual(new Set([true]));
});
