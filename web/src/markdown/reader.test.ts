import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import type { Token, Tokens } from "marked";
import { describe, expect, it } from "vitest";

import { lex, reader } from "./reader";

const folder = join(import.meta.dirname, "../../../fixtures/answers");
const ANSWERS = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]);

function links(text: string): string[] {
  const found: string[] = [];
  void reader.walkTokens(lex(text), (token: Token) => {
    if (token.type === "link") found.push((token as Tokens.Link).href);
  });
  return found;
}

describe("the lexer", () => {
  it.each(ANSWERS)("gives the tokens of marked: %s", (_, text = "") => {
    expect(lex(text)).toEqual([...reader.lexer(text)]);
  });

  it.each([
    ["before", "[a]: https://e.org/1\n\nsee [a]"],
    ["behind", "see [a]\n\n[a]: https://e.org/1"],
    ["in a list", "see [a]\n\n- item\n\n  [a]: https://e.org/1"],
    ["in a quote", "see [a]\n\n> [a]: https://e.org/1"],
    ["twice", "see [A]\n\n[a]: https://e.org/1\n\n[a]: https://e.org/2"],
  ])("resolves a reference with a definition %s", (_, text) => {
    expect(links(text)).toEqual(["https://e.org/1"]);
  });

  it("ends the title of a definition before an empty line", () => {
    const text = '[a]: https://e.org/1\n"half a title\n\nlast line"';
    expect(lex(text).map(({ type }) => type)).toEqual(["def", "paragraph", "space", "paragraph"]);
  });

  it("ends an element without an end with its block", () => {
    expect(links("an <a href='x'> open\n\nhttps://e.org/1")).toEqual(["https://e.org/1"]);
  });

  it("takes the mark of a task off its own item", () => {
    const list = lex("- [ ] one\n- two\n\n  [ ] three")[0] as Tokens.List;
    const [, words] = list.items.map(({ tokens }) => tokens.map((token) => (token as Tokens.Text).tokens));
    expect(list.items[0]?.tokens[0]).toMatchObject({ tokens: [{ type: "checkbox" }, { text: "one" }] });
    expect(words?.at(-1)).toMatchObject([{ text: "[ ] three" }]);
  });

  it("counts every kind of line end as one letter", () => {
    expect(lex("a\r\n\r\nb\rc")).toEqual(lex("a\n\nb\nc"));
  });
});

describe("text that would take too long to lex", () => {
  const raws = (text: string) =>
    lex(text)
      .map(({ raw }) => raw)
      .join("");

  it.each([
    ["emphasis", "*a_".repeat(20_000)],
    ["brackets", "![[".repeat(20_000)],
    ["formulas", "$a$ ".repeat(20_000)],
    ["quotations", ">".repeat(20_000)],
    ["lists", "- ".repeat(20_000)],
    ["columns", "|a".repeat(2_000) + "|\n" + "|-".repeat(2_000) + "|\n" + "|b".repeat(2_000) + "|"],
  ])("is text: %s", (_, text) => {
    expect(raws(text)).toBe(text);
  });

  it("is marked up below the limits", () => {
    expect(lex("> ".repeat(20) + "deep").map(({ type }) => type)).toEqual(["blockquote"]);
    expect(lex("|a".repeat(90) + "|\n" + "|-".repeat(90) + "|").map(({ type }) => type)).toEqual(["table"]);
  });
});
