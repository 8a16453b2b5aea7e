import * as fc from "fast-check";
import { Lexer } from "marked";
import { describe, expect, it } from "vitest";

import { NOTHING, grow } from "./blocks";

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
  "# One\n## Two\ntext\n\n* * *\n\n+ x\n+ y",
];

const read = (text: string) =>
  Lexer.lex(text, { gfm: true })
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
