import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { BLOCK_END, folded, matchesIn } from "./matches";

/** The parts of a text that match, in their original spelling. */
const found = (text: string, typed: string) =>
  matchesIn(text, folded(typed)).map(({ start, end }) => text.slice(start, end));

describe("matches", () => {
  it("ignore case", () => {
    expect(found("Heron, heron, HERON", "hErOn")).toEqual(["Heron", "heron", "HERON"]);
    expect(found("ΟΔΟΣ οδος", "οδος")).toEqual(["ΟΔΟΣ", "οδος"]);
  });

  it("stand where the original has them, also behind letters that change their length", () => {
    expect(found("İİ x", "x")).toEqual(["x"]);
    expect(found("İstanbul", "istanbul")).toEqual(["İstanbul"]);
    expect(found("die Straße lang", "STRASSE")).toEqual(["Straße"]);
    expect(found("STRASSE", "straße")).toEqual(["STRASSE"]);
    expect(found("Straße", "s")).toEqual(["S", "ß"]);
    expect(found("a 👩‍💻 writes", "👩‍💻 W")).toEqual(["👩‍💻 w"]);
  });

  it("ignore accents, composed or combining, and take them along", () => {
    const combining = "cafe\u0301 noir";
    expect(found(combining, "cafe")).toEqual(["cafe\u0301"]);
    expect(found(combining, "café n")).toEqual(["cafe\u0301 n"]);
    expect(found("un café", "cafe\u0301")).toEqual(["café"]);
  });

  it("go on over line breaks and end with a block", () => {
    expect(found("foo\n  bar", "foo bar")).toEqual(["foo\n  bar"]);
    expect(found(`foo${BLOCK_END}bar`, "foobar")).toEqual([]);
    expect(found(`foo ${BLOCK_END} bar`, "foo bar")).toEqual([]);
  });

  it("of nothing are none", () => {
    expect(matchesIn("foo", "")).toEqual([]);
  });

  it("are places in the text, in order and without overlap", () => {
    const texts = fc.string({ unit: "binary" });
    fc.assert(
      fc.property(texts, texts, texts, (before, typed, behind) => {
        const text = before + typed + behind;
        let last = 0;
        for (const { start, end } of matchesIn(text, folded(typed))) {
          expect(start).toBeGreaterThanOrEqual(0);
          expect(end).toBeGreaterThan(start);
          expect(end).toBeLessThanOrEqual(text.length);
          expect(end).toBeGreaterThanOrEqual(last);
          last = end;
        }
      }),
    );
  });

  it("fold a text as they fold its letters", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const plain = folded(text);
        fc.pre(plain !== "");
        expect(matchesIn(text, plain)).toHaveLength(1);
      }),
    );
  });
});
