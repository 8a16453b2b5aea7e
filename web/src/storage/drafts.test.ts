import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { flushWithPage, LocalDrafts, localDrafts } from "./drafts";
import { forgetStorage, inMemory } from "./local";
import { actFor } from "./own";
import { openTab, type Tab } from "./tab";

const tab: Tab = { id: "t", before: undefined, ifClosed: undefined };
let writes: string[];

beforeEach(() => {
  vi.useFakeTimers();
  writes = [];
  const storage = inMemory();
  vi.stubGlobal("localStorage", {
    ...storage,
    get length() {
      return storage.length;
    },
    setItem: (name: string, text: string) => {
      writes.push(name);
      storage.setItem(name, text);
    },
  });
  forgetStorage();
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const PLACE = "draft:heron:s:t";

test("keys are gathered into one write, and only what changed is written", () => {
  const drafts = new LocalDrafts("heron", tab);
  for (let length = 1; length <= 5; length += 1) {
    drafts.keep("s", { text: "#".repeat(length), base: "base" });
    vi.advanceTimersByTime(100);
  }
  expect(writes).toEqual([]);
  vi.advanceTimersByTime(50);
  expect(writes).toEqual([PLACE, "draft-base:heron:s:t"]);
  drafts.keep("s", { text: "######", base: "base" });
  vi.advanceTimersByTime(150);
  expect(writes.slice(2)).toEqual([PLACE]);
});

test("somebody who never pauses has their text written within a second", () => {
  const drafts = new LocalDrafts("heron", tab);
  for (let at = 0; at < 12; at += 1) {
    drafts.keep("s", { text: `${at}`, base: "" });
    vi.advanceTimersByTime(100);
  }
  expect(writes.length).toBeGreaterThan(0);
});

test("a draft can be read before it is saved", () => {
  const drafts = new LocalDrafts("heron", tab);
  drafts.keep("s", { text: "half a thought", base: "" });
  expect(drafts.own("s")?.text).toBe("half a thought");
  expect(drafts.sessions()).toEqual(["s"]);
});

test.each(["pagehide", "visibilitychange"])("the newest text is written at once: %s", (event) => {
  const document = Object.assign(new EventTarget(), { visibilityState: "hidden" });
  const page = Object.assign(new EventTarget(), { document });
  flushWithPage(page as unknown as Window);
  actFor("heron");
  const drafts = localDrafts();
  drafts.keep("s", { text: `until ${event}`, base: "" });
  (event === "pagehide" ? page : document).dispatchEvent(new Event(event));
  expect(localStorage.getItem(`draft:heron:s:${drafts.tab.id}`)).toBe(`until ${event}`);
});

test("reports full storage, and saves the draft once there is space", () => {
  const drafts = new LocalDrafts("heron", tab);
  const told = vi.fn();
  const setItem = vi.spyOn(localStorage, "setItem").mockImplementation(() => {
    throw new DOMException("full", "QuotaExceededError");
  });
  drafts.keep("s", { text: "half a thought", base: "" }, told);
  expect(drafts.flush()).toBe(false);
  expect(told).toHaveBeenLastCalledWith(false);
  setItem.mockRestore();
  expect(drafts.flush()).toBe(true);
  expect(told).toHaveBeenLastCalledWith(true);
  expect(localStorage.getItem(PLACE)).toBe("half a thought");
});

test("drafts of an erased session are deleted and not saved again", () => {
  localStorage.setItem("draft:heron:s:another", "words");
  const drafts = new LocalDrafts("heron", tab);
  drafts.keep("s", { text: "half", base: "" });
  drafts.forget("s");
  drafts.keep("s", { text: "half a", base: "" });
  drafts.flush();
  expect(drafts.all("s")).toEqual([]);
});

test("a page finds the draft of the page before a reload; a copy of the tab is a new tab", () => {
  const values = inMemory();
  const locks = { request: async () => undefined } as unknown as LockManager;
  const page = new EventTarget();
  const first = openTab(values, locks, page);
  expect(openTab(values, locks, new EventTarget()).before).toBeUndefined();
  page.dispatchEvent(new Event("pagehide"));
  const next = openTab(values, locks, new EventTarget());
  expect(next.before).toBe(first.id);
  expect(next.id).not.toBe(first.id);
});
