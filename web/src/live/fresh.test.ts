import { beforeEach, describe, expect, it, vi } from "vitest";

import { forgetStorage, inMemory } from "../storage/local";
import { actFor } from "../storage/own";
import { isBlank, keepFresh, readFresh, sessionId } from "./fresh";

const NONE: ReadonlySet<string> = new Set();
const DAY = 24 * 60 * 60 * 1_000;

beforeEach(() => {
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
  actFor("heron");
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
    localStorage.setItem("draft:heron:drafted:another-tab", "half a thought");
    localStorage.setItem("files:heron:attached", "[]");
    expect(isBlank("blank")).toBe(true);
    const left = readFresh("heron", new Set(["sent"]));
    expect(Object.keys(left).sort()).toEqual(["attached", "drafted", "sent"]);
    expect(localStorage.getItem("new:heron:blank")).toBeNull();
  });
});
