import * as fc from "fast-check";
import { Lexer, type Tokens } from "marked";
import { describe, expect, it } from "vitest";

import { reader } from "./maths";
import { NOTHING, grow, isClosed } from "./blocks";

const NASTY = [
  "- a\n- b\n\n- c\n",
  "- a\n\n  b\n- c",
  "Title\n=====\n\ntext",
  "```rust\nfn main() {}\n\nstill code\n",
  "```\na\n```\n\n~~~\nb\n~~~\nend",
  "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter",
  "<div>\n<script>alert(1)</script>\n\n</div>\n\ntext",
  "> quote\nlazy\n\n> more",
  "一二三**四**五\n\n- 六\n  - 七\n",
  "1. one\n2. two\n   - inner\n\n   para\n3. three",
  "text\n\n    indented code\n\n\ttabbed\n\nend",
  "[a]: http://example.org\n\n[a] is a link",
  "para\nwith a line\n---\nheading above\n\n***\n",
  "text\n$$\na + b\n$$\nmore\n\n- c\n",
  "$$\n- a\n# b\n> c\n\nd\n$$\ne",
  "$$a$$\n$$b$$ tail\n$$c$$\n\n\\[\nd\n\\]\n\\[e\\] tail\n===\nend",
  "p\n$$a$$\n$$b$$\n===\n\n> q\n$$c$$\n- r\n$$d$$\n\nend",
  "- a $x$\n  $$\n  y\n  $$\n- b\n\n  \\[z\n\n1. c\n",
  "| $a$ |\n|---|\n| \\(b\\) |\n$$c$$\n\n$$$5 and $6",
  "# One\n## Two\ntext\n\n* * *\n\n+ x\n+ y",
];

const read = (text: string) =>
  reader
    .lexer(text)
    .filter((token) => token.type !== "space")
    .map((token) => [token.type, token.raw.trimEnd()]);

describe("blocks that grow", () => {
  it.each(NASTY)("are those of the whole text, however it came: %j", (text) => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length })), (cuts) => {
        let blocks = NOTHING;
        for (const cut of [...cuts.sort((a, b) => a - b), text.length])
          blocks = grow(blocks, text.slice(0, cut));
        const grown = [...blocks.settled, ...blocks.open].map(({ token }) => [
          token.type,
          token.raw.trimEnd(),
        ]);
        expect(grown).toEqual(read(text));
      }),
      { numRuns: 200 },
    );
  });

  it("keep what is settled as it was", () => {
    const text = "one\n\ntwo\n\nthree\n\nfour\n\nfive";
    const before = grow(NOTHING, text);
    const after = grow(before, `${text}\n\nsix\n\nseven`);
    expect(after.settled.slice(0, before.settled.length)).toEqual(before.settled);
    expect(before.settled.length).toBeGreaterThan(1);
    before.settled.forEach((block, at) => expect(after.settled[at]).toBe(block));
  });
});

/** Pieces that meet badly. */
const PIECES = [
  "$$",
  "\\[",
  "\\]",
  "\n",
  "\n\n",
  "a",
  " b",
  "- ",
  "> ",
  "# ",
  "===\n",
  "---\n",
  "```\n",
  "| c |",
  "$",
  "   ",
];

describe("formulas that grow", () => {
  it("are those of the whole text, whatever stands around them", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PIECES), { maxLength: 25 }), (pieces) => {
        let blocks = NOTHING;
        for (let at = 1; at <= pieces.length; at += 1) blocks = grow(blocks, pieces.slice(0, at).join(""));
        const grown = [...blocks.settled, ...blocks.open].map(({ token }) => [
          token.type,
          token.raw.trimEnd(),
        ]);
        expect(grown).toEqual(read(pieces.join("")));
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a block of code", () => {
  const closed = (text: string) => isClosed(Lexer.lex(text)[0] as Tokens.Code);

  it.each(["```\na\n```", "```rust\n```\n\n", "~~~~ts\na\n~~~\n~~~~\n", "````\n```\n````"])(
    "is closed: %j",
    (text) => expect(closed(text)).toBe(true),
  );

  it.each(["```", "```rust\na", "```\na\n``", "````\na\n```", "~~~\na\n```", "    a"])(
    "is open: %j",
    (text) => expect(closed(text)).toBe(false),
  );
});
