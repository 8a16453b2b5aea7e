import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { diffLines } from "./diff";

describe("a diff", () => {
  it("has lines that were added, removed and kept, and places", () => {
    const text =
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n--- a remark in SQL\n kept\n+added\n\n-removed";
    expect(diffLines(text).map(({ kind }) => kind)).toEqual([
      "place",
      "place",
      "place",
      "place",
      "removed",
      "kept",
      "added",
      "kept",
      "removed",
    ]);
  });

  it("is all of its text", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("+", "-", "\n", "--- ", "+++ ", "@@", "a")), (pieces) => {
        const text = pieces.join("");
        expect(
          diffLines(text)
            .map((line) => line.text)
            .join(""),
        ).toBe(text);
      }),
    );
  });
});
