import { createJavaScriptRegexEngine } from "@shikijs/engine-javascript";
import rust from "@shikijs/langs/rust";
import python from "@shikijs/langs/python";
import { codeToTokensBase, createShikiPrimitive } from "@shikijs/primitive";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { THEME, grammarFor, runsOf } from "./kinds";

const reader = createShikiPrimitive({
  themes: [THEME],
  langs: [python, rust],
  engine: createJavaScriptRegexEngine({ forgiving: true }),
});

const runs = (lang: string, text: string) =>
  runsOf(text, codeToTokensBase(reader, text, { lang, theme: THEME.name, tokenizeTimeLimit: 0 }));

/** The stretches that are of a kind, each with its kind. */
function kinds(lang: string, text: string): string[] {
  let end = 0;
  return runs(lang, text).flatMap(([kind, length]) => {
    const words = text.slice(end, (end += length)).trim();
    return kind === "" ? [] : [`${kind} ${words}`];
  });
}

describe("kinds of code", () => {
  it("tell keywords, types, functions, texts, numbers and remarks apart", () => {
    expect(kinds("rust", 'pub fn sum(of: Vec<u8>) -> u32 {\n    say("a"); 41 // why\n}\n')).toEqual([
      "k pub fn",
      "f sum",
      "t Vec",
      "t u8",
      "t u32",
      "f say",
      's "a"',
      "n 41",
      "c // why",
    ]);
  });

  it("leave what is inside a text as code", () => {
    expect(kinds("python", 'f"x {size + 1} y"')).toEqual(["k f", 's "x', "n {", "n 1}", 's y"']);
  });

  it("take as many letters as the text has, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom("fn ", "a", '"', "\n", "//", "{", "é", "🪶", "\t", "1")),
        (pieces) => {
          const text = pieces.join("");
          expect(runs("rust", text).reduce((sum, [, length]) => sum + length, 0)).toBe(text.length);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("know the names that people write, and leave long texts plain", () => {
    expect(grammarFor("TS", "let a")).toBe("typescript");
    expect(grammarFor("constructor", "let a")).toBeUndefined();
    expect(grammarFor("rust", "x".repeat(20_001))).toBeUndefined();
  });
});
