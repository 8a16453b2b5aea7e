import { beforeEach, describe, expect, it } from "vitest";

import { isBlank, keepFresh, readFresh, sessionId } from "./fresh";

const NONE: ReadonlySet<string> = new Set();
const DAY = 24 * 60 * 60 * 1_000;

beforeEach(() => {
  const places: Record<string, string> = {};
  // As in a browser, what is kept is what its keys are.
  Object.defineProperties(places, {
    getItem: { value: (place: string) => places[place] ?? null },
    setItem: { value: (place: string, text: string) => (places[place] = text) },
    removeItem: { value: (place: string) => delete places[place] },
  });
  Object.defineProperty(globalThis, "localStorage", { value: places, configurable: true });
});

describe("a session id", () => {
  it("is a UUIDv7 of its time", () => {
    const id = sessionId(0x0123_4567_89ab);
    expect(id).toMatch(/^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(sessionId(1_000) < sessionId(2_000)).toBe(true);
  });

  it("is never the same twice", () => {
    expect(new Set(Array.from({ length: 1_000 }, () => sessionId(5))).size).toBe(1_000);
  });
});

describe("new sessions on this device", () => {
  it("belong to the user that started them", () => {
    keepFresh({ session: "a", user: "heron", at: Date.now() });
    expect(Object.keys(readFresh("heron", NONE))).toEqual(["a"]);
    expect(readFresh("tern", NONE)).toEqual({});
  });

  it("are forgotten after a day, unless something was written or waits to be sent", () => {
    const at = Date.now() - 2 * DAY;
    for (const session of ["blank", "drafted", "attached", "sent"]) keepFresh({ session, user: "heron", at });
    localStorage.setItem("draft:drafted", "half a thought");
    localStorage.setItem("files:attached", "[]");
    expect(isBlank("blank")).toBe(true);
    const left = readFresh("heron", new Set(["sent"]));
    expect(Object.keys(left).sort()).toEqual(["attached", "drafted", "sent"]);
    expect(localStorage.getItem("new:blank")).toBeNull();
  });
});
