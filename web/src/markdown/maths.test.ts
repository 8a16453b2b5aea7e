import type { Token, Tokens } from "marked";
import { describe, expect, it } from "vitest";

import { reader } from "./reader";

/** The formulas of a text, blocks of their own in brackets, those without an end with a question mark. */
function formulas(text: string): string[] {
  const found: string[] = [];
  const look = (token: Token) => {
    if (token.type !== "formula") return;
    const { text, display, closed } = token as Tokens.Generic;
    found.push(`${display ? `[${text}]` : text}${closed ? "" : "?"}`);
  };
  void reader.walkTokens(reader.lexer(text), look);
  return found;
}

describe("formulas", () => {
  it.each([
    ["$$\na + b\n$$", ["[a + b]"]],
    ["so\n$$x$$\nand", ["[x]"]],
    ["\\[\nx = 1\n\\]", ["[x = 1]"]],
    ["- item\n\n  $$x$$\n", ["[x]"]],
    ["$$\n- no list\n# no heading\n$$", ["[- no list\n# no heading]"]],
    ["$$\nx", ["[x]?"]],
    ["$$\nx\n\ny\n$$", ["[x]?", "[]?"]],
    ["inline \\(a_1 * b\\) and $c^2$.", ["a_1 * b", "c^2"]],
    ["mid $$x$$ line, \\[y = 2\\] too", ["[x]", "[y = 2]"]],
    ["**bold $x$** and [link $y$](http://example.org)", ["x", "y"]],
    ["$a$, ($b$) and $ABC$", ["a", "b", "ABC"]],
    ["$\\$5$", ["\\$5"]],
  ])("are read: %j", (text, expected) => expect(formulas(text)).toEqual(expected));

  it.each([
    "It costs $5 and $10.",
    "From US$5 to A$10$",
    "$5 and that is 10$ more",
    "$5-$10, $1M/$2M",
    "Set $HOME and $PATH, or $HOME/$USER",
    "`$x$` and ```$y$```",
    "\\$x\\$ and \\\\",
    "note \\[sic\\] and \\[1\\]",
    "$$ $$ and $$$$",
    "$ x $",
    "    $$x$$",
    "```\n$$x$$\n```",
  ])("are not seen where there are none: %j", (text) => expect(formulas(text)).toEqual([]));

  it("cost little when no mark has an end", () => {
    const before = performance.now();
    formulas("\\( $a ".repeat(3_000));
    expect(performance.now() - before).toBeLessThan(5_000);
  });
});
