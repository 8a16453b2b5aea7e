import { expect, it } from "vitest";

import type { TurnView } from "../log/types";
import { folded } from "./matches";
import { foldedWords, renderedText } from "./rendered";

const turn = (said: string, ...texts: string[]) =>
  ({
    turn: 1,
    message: { text: said },
    answer: { run: 1, parts: texts.map((text) => ({ text })) },
  }) as TurnView;
const has = (one: TurnView, words: string) => foldedWords(one).includes(folded(words));

it("finds words that are formatted in part", () => {
  expect(has(turn("?", "so foo **bar** it *is*"), "foo bar it is")).toBe(true);
  expect(has(turn("?", "call `grow()` of [the lake](https://example.org)"), "grow() of the lake")).toBe(true);
  expect(has(turn("?", "# A *Heron*"), "a heron")).toBe(true);
  expect(has(turn("?", "one\ntwo"), "one two")).toBe(true);
  expect(has(turn("?", "caf&eacute; **&mdash; bar**"), "café — bar")).toBe(true);
});

it("finds no marks and no addresses", () => {
  expect(has(turn("?", "foo **bar**"), "**bar")).toBe(false);
  expect(has(turn("?", "[the lake](https://example.org)"), "example.org")).toBe(false);
});

it("finds what a person wrote as they wrote it", () => {
  expect(has(turn("say foo **bar**"), "foo **bar**")).toBe(true);
});

it("ends words with their block", () => {
  for (const text of ["foo\n\nbar", "- foo\n- bar", "| a | b |\n| - | - |\n| foo | bar |", "foo\n\n    bar"])
    expect(has(turn("?", text), "foo bar"), text).toBe(false);
  expect(has(turn("foo", "bar"), "foo bar")).toBe(false);
});

it("has the words of code, lists, tables and quotes", () => {
  const text =
    "```js\nlet a = 1 < 2;\n```\n\n> quoted *words*\n\n1. first\n   - inner\n\n| x & y |\n| - |\n| cell |\n\n- [ ] task";
  const words = renderedText(text);
  for (const part of ["let a = 1 < 2;", "quoted words", "first", "inner", "x & y", "cell", "task"])
    expect(words).toContain(part);
});
