import { expect, test } from "vitest";

import { wordsKept } from "./kept";

test("what goes on keeps every word, also one that was half written", () => {
  expect(wordsKept("a heron sta", "a heron stands in the reeds")).toBe(3);
  expect(wordsKept("a heron", "a heron")).toBe(2);
  expect(wordsKept("", "a heron")).toBe(0);
});

test("white space is no word", () => {
  expect(wordsKept("a heron\n", "a heron  stands")).toBe(2);
});

test("what is missing or changed is not counted, nor what stands behind it", () => {
  expect(wordsKept("a heron stands", "a heron")).toBe(2);
  expect(wordsKept("a heron stands here", "a tern stands here")).toBe(1);
});
