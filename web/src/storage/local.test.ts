import * as fc from "fast-check";
import { beforeEach, expect, test, vi } from "vitest";

import { knownMe } from "../live/me";
import { readFresh } from "../live/fresh";
import { forgetStorage, inMemory, names, read, readValue, write, writeValue } from "./local";
import { migrate } from "./migrate";

const isText = (value: unknown): value is string => typeof value === "string";

beforeEach(() => {
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
});

test("a value that cannot be read is set aside and counts as missing", () => {
  for (const text of ['"half', "null", "7", '{"a":1}']) {
    write("place", text);
    expect(readValue("place", isText)).toBeUndefined();
    expect(read("place")).toBeNull();
    expect(read("broken:place")).toBe(text);
  }
  writeValue("place", "whole");
  expect(readValue("place", isText)).toBe("whole");
});

test.each([
  [
    "a storage that throws",
    () =>
      vi.stubGlobal("localStorage", {
        getItem: () => {
          throw new DOMException("denied", "SecurityError");
        },
      }),
  ],
  ["no storage", () => vi.stubGlobal("localStorage", undefined)],
])("without the browser's storage values last as long as the page: %s", (_, deny) => {
  deny();
  forgetStorage();
  write("draft:a", "half a thought");
  expect(read("draft:a")).toBe("half a thought");
  expect(names("draft:")).toEqual(["draft:a"]);
});

test("a full storage says so and keeps what it had", () => {
  const full = inMemory();
  full.setItem("place", "before");
  vi.stubGlobal("localStorage", {
    ...full,
    setItem: () => {
      throw new DOMException("full", "QuotaExceededError");
    },
  });
  forgetStorage();
  expect(() => write("place", "after")).toThrow("full");
  expect(read("place")).toBe("before");
});

test("whatever is stored, the page begins", () => {
  const names = [
    "me",
    "new:heron:a",
    "draft:heron:a:t",
    "files:heron:a",
    "outbox:heron:k",
    "new:a",
    "draft:a",
  ];
  const texts = fc.oneof(fc.string(), fc.json(), fc.constantFrom("null", "[null]", "{}", '[{"id":1}]'));
  fc.assert(
    fc.property(fc.constantFrom(...names), texts, (name, text) => {
      write(name, text);
      knownMe();
      migrate("heron");
      readFresh("heron", new Set());
    }),
  );
});
