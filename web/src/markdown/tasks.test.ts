import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";

import type { Interruption } from "../log/types";
import { Markdown } from "./Markdown";

const drawn = (text: string, cuts: Interruption[] = []) =>
  renderToStaticMarkup(createElement(Markdown, { text, cuts }));
const words = (markup: string) => markup.replace(/<[^>]+>/g, "|").replace(/\|+/g, "|");

it.each([
  ["a tight list", "- [x] done\n- [ ] open"],
  ["a loose list", "- [x] done\n\n- [ ] open"],
  ["an ordered list", "1. [x] done\n2. [ ] open"],
])("draws one box for each task: %s", (_, text) => {
  const markup = drawn(text);
  expect(markup.match(/<input/g)?.length).toBe(2);
  expect(markup.match(/checked=""/g)?.length).toBe(1);
  expect(words(markup)).toBe("|done|open|");
});

it("leaves a box alone that stands in no list", () => {
  expect(words(drawn("[x] done"))).toBe("|[x] done|");
});

it("puts a knot before the block in which the text was cut", () => {
  const text = "🎉 one\n\n```js\ntwo();\n```\n\nthree";
  const marker = { kind: "stopped", run: 1, at: 1, text: "" } as const;
  const blockAt = (offset: number) =>
    /<span class="cuts">.*?<\/span><\/span><(\w+)/.exec(drawn(text, [{ part: 0, offset, marker }]))?.[1];
  const characters = [...text];
  const after = (words: string) => [...text.slice(0, text.indexOf(words) + words.length)].length;
  expect(blockAt(0)).toBe("p");
  expect(blockAt(after("on"))).toBe("p");
  expect(blockAt(after("tw"))).toBe("figure");
  expect(blockAt(after("```js"))).toBe("figure");
  expect(blockAt(characters.length)).toBe("p");
});

it("puts a knot where the text was cut whatever its line ends are", () => {
  const text = "one\r\n\r\ntwo\r\n\r\nthree";
  const marker = { kind: "stopped", run: 1, at: 1, text: "" } as const;
  const cutAt = (offset: number) =>
    words(
      drawn(text, [{ part: 0, offset, marker }]).replace(/<span class="cuts">.*?<\/span><\/span>/, "CUT"),
    );
  expect(cutAt(text.indexOf("two"))).toBe("|CUT|one|two|three|");
  expect(cutAt(text.indexOf("two") + 1)).toBe("|one|CUT|two|three|");
});
