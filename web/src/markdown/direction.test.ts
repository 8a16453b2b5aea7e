import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";

import { Markdown } from "./Markdown";

/** Returns the rendered elements of a text with their directions. */
function directions(text: string): string[] {
  const markup = renderToStaticMarkup(createElement(Markdown, { text }));
  return [...markup.matchAll(/<(p|h\d|li|blockquote|th|td|pre|code|span)\b([^>]*)/g)].map(
    ([, name, rest = ""]) => `${name} ${/dir="(\w+)"/.exec(rest)?.[1] ?? ""}`.trim(),
  );
}

describe("the direction", () => {
  it.each([
    ["a paragraph", "שלום", ["p auto"]],
    ["a heading", "# שלום", ["h3 auto"]],
    ["a tight item", "- שלום", ["li auto"]],
    ["a table", "| א |\n|---|\n| ב |", ["th auto", "td auto"]],
    ["HTML", "<div>\nשלום\n</div>", ["p auto"]],
  ])("of %s is that of its text", (_, text, expected) => expect(directions(text)).toEqual(expected));

  it.each([
    ["a loose item", "- שלום\n\n  one", ["li auto", "p", "p"]],
    ["a quotation", "> שלום\n>\n> # one", ["blockquote auto", "p", "h3"]],
    ["a task", "- [ ] שלום\n\n  one", ["li auto", "p", "p"]],
  ])("of %s is that of the first text in it", (_, text, expected) =>
    expect(directions(text)).toEqual(expected),
  );

  it.each([
    ["code", "`a`", ["p auto", "code ltr"]],
    ["a formula", "$x$", ["p auto", "span ltr"]],
  ])("of %s is left to right", (_, text, expected) => expect(directions(text).slice(0, 2)).toEqual(expected));

  it.each(["```js\na\n```", "```mermaid\na\n```", "    a"])(
    "of a block of code is left to right: %j",
    (text) => expect(directions(text)).toContain("pre ltr"),
  );
});
