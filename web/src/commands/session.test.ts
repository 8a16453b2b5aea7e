import { afterEach, expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import { EMPTY } from "../log/empty";
import type { Marker, View } from "../log/types";
import { view } from "../log/view";
import { fitting, wordsOf } from "./find";
import { can } from "./registry";
import { sessionCommands } from "./session";

// The whole store needs a page, and so do frames.
vi.mock("../live/frame", () => ({ onceAFrame: (act: () => void) => act }));
vi.mock("../live/store", () => ({ store: createStore(() => ({ link: { kind: "open" }, sessions: {} })) }));
const question = vi.hoisted(() => vi.fn());
vi.mock("../sessions/asked", () => ({ ask: question }));
const sent = vi.fn<typeof fetch>(async () => new Response("{}"));
vi.stubGlobal("fetch", sent);
const print = vi.fn();
afterEach(() => vi.clearAllMocks());

const ended: Marker = { kind: "stopped", run: 2, at: 1, text: "" };
const newest = (marker: Marker | null): Partial<View> => ({
  turns: [{ turn: 1, posted_at: 1, message: { text: "" }, answer: null, marker, alternatives: [2] }],
});

/** Returns the commands whose titles match a query. */
function found(typed: string, rest: Partial<View> = {}) {
  const nothing = () => undefined;
  const shown = { session: "s", finding: false, find: nothing, print, history: nothing };
  const commands = sessionCommands({ ...shown, view: { ...view(EMPTY), ...rest } }).filter(can);
  return fitting(commands, (command) => command.title(), wordsOf(typed));
}

it("compacts and clears as the menu of the row does", () => {
  const [compact] = found("compact");
  expect(compact?.title()).toBe("Compact context");
  compact?.run();
  expect(sent.mock.calls.map(([path]) => path)).toEqual(["/api/v1/sessions/s/compact"]);
  const [clear] = found("clear");
  expect(clear?.title()).toBe("Clear conversation");
  clear?.run();
  expect(question).toHaveBeenCalledWith({ kind: "clear", session: "s" });
});

it("leaves a session in the trash alone", () => {
  expect(found("compact", { trashed: true })).toEqual([]);
  expect(found("clear", { trashed: true })).toEqual([]);
});

it("offers Continue for a newest answer that ended early, and for no other", () => {
  const titles = (rest: Partial<View>) => found("continue", rest).map((command) => command.title());
  expect(titles(newest(ended))).toEqual(["Continue"]);
  expect(titles(newest(null))).toEqual([]);
  expect(titles({ ...newest(ended), run: 3 })).toEqual([]);
  expect(titles(newest({ ...ended, kind: "recovering" }))).toEqual([]);
  expect(titles({})).toEqual([]);
});

it("prints by the browser's own keys", () => {
  const [command] = found("print");
  expect(command?.keys).toBe("Mod+p");
  command?.run();
  expect(print).toHaveBeenCalledOnce();
});
