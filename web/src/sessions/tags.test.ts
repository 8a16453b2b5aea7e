import { describe, expect, it } from "vitest";

import { tagsAfter, tagsOf, written } from "./tags";

describe("tags of several", () => {
  it("are on all of them or on some", () => {
    expect([...tagsOf([["b", "a"], ["a"]])]).toEqual([
      ["a", "all"],
      ["b", "some"],
    ]);
    expect([...tagsOf([[], []])]).toEqual([]);
  });

  it("stay as they are but for what is changed", () => {
    const wanted = new Map([
      ["a", "none"],
      ["b", "some"],
      ["c", "all"],
    ] as const);
    expect(tagsAfter(["a", "b"], wanted)).toEqual(["b", "c"]);
    expect(tagsAfter(["c", "d"], wanted)).toEqual(["c", "d"]);
  });

  it("are written with commas between them", () => {
    expect(written(" Birds, wet ,, ")).toEqual(["birds", "wet"]);
  });
});
