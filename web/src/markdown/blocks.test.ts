import { isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";
import { Lexer, type Token, type Tokens } from "marked";
import { describe, expect, it, vi } from "vitest";

import { NOTHING, grow, isClosed, type Blocks } from "./blocks";
import { lex } from "./reader";

/** Lexing thousands of texts is slow on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

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
  "see [a] and [t][b]\n\n[b]: http://e.org/b\n\nmore\n\n- [a]\n\n[a]: http://e.org/a\n'title'\n\nend",
  "- [a]\n- b\n- c\n- d\n- e\n\n[a]: http://e.org/a\n\nend",
  "- a\n- b\n- c\n- d\n- e\n\n- loose\n- f\n",
  "- a\n\n- b\n- c\n- [x] d\n- e\n- f\n\n  g\n* other\n* list",
  "7) a\n8) b\n   1. in\n   2. in\n\n9) c\nlazy\n10) d\n11) e\n1. other\n",
  "- [ ] a\n- [x] b\n- c\n\n  [ ] d\n- [ ] e\n- [x] f\n",
  "| a | [r] |\n|---|:-:|\n| 1 | 2 |\n| [r] | 4 |\n| 5 |\n\t\n| 6 | 7 | 8 |\n\n[r]: /x\n",
  "a\r\n\r\n- b\r\n- c\r- d\r\n- e\r\n\r\nf\r\n\r\ng\r\n\r\nh",
  "=\n|\n---\n $$\n\n| x |\n3) \n- $$",
  "| a |\n|---|\n| 1 |\n| 2 |\n\t\n\t\n\t\n\t\n\t\n",
  "   - a\n\n   - b\n   - c\n   - d\n   - e\n   - f",
  "> see [a\n> b]\n\nc\n\nd\n\ne\n\n[A b]: /u\n\nf",
  '[a]: x\n"half a title\n\nb\n\nc\n\nd\n\ne"\n\n[a]',
  "open <a href='x'> <kbd>\n\nhttps://e.org\n\n&nbsp; https://e.org\n\nend",
];

const grown = ({ settled, open }: Blocks) => [...settled, ...open].map(({ token }) => token);
const once = (text: string) => lex(text).filter(({ type }) => type !== "space");

/** Lexes piece by piece and compares with lexing at once after each piece. */
function expectSameAsAtOnce(pieces: Iterable<string>): void {
  let blocks = NOTHING;
  let text = "";
  for (const piece of pieces) {
    text += piece;
    blocks = grow(blocks, text);
    const [one, other] = [grown(blocks), once(text)];
    // Formatting a difference is slow, so equality is checked first.
    if (!isDeepStrictEqual(one, other)) expect(one).toEqual(other);
  }
}

/** Freezes a value deeply, so that writing to any part throws. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}

/** Splits a text at the given places. */
function cut(text: string, places: readonly number[]): string[] {
  const ends = [...places.toSorted((one, other) => one - other), text.length];
  return ends.map((end, at) => text.slice(ends[at - 1] ?? 0, end));
}

describe("blocks that grow", () => {
  it.each(NASTY)("are those of the whole text after each letter: %j", expectSameAsAtOnce);

  it.each(NASTY)("are those of the whole text, however it came: %j", (text) => {
    fc.assert(
      fc.property(fc.array(fc.nat({ max: text.length })), (places) => expectSameAsAtOnce(cut(text, places))),
      { numRuns: 20 },
    );
  });

  it.each(NASTY)("leave the blocks they go on from unchanged: %j", (text) => {
    let blocks = NOTHING;
    for (let end = 1; end <= text.length; end += 1) {
      // A render that React discards.
      grow(blocks, `${text.slice(0, end)}- other\n\n[a]: x\n[r]: y`);
      blocks = frozen(grow(blocks, text.slice(0, end)));
      expect(grow(blocks, text.slice(0, end))).toBe(blocks);
    }
    expect(grown(blocks)).toEqual(once(text));
  });

  it("are those of another text after the text was replaced", () => {
    const before = grow(NOTHING, "- a\n- b\n- c\n- d\n- e\n- f");
    expect(grown(grow(before, "- a\n- b\n- x\n- d"))).toEqual(once("- a\n- b\n- x\n- d"));
  });

  it("keep what is settled as it was", () => {
    const text = "one\n\ntwo\n\nthree\n\nfour\n\nfive";
    const before = grow(NOTHING, text);
    const after = grow(before, `${text}\n\nsix\n\nseven`);
    expect(before.settled.length).toBeGreaterThan(1);
    before.settled.forEach((block, at) => expect(after.settled[at]).toBe(block));
  });

  it("keep an open block that did not change", () => {
    const before = grow(NOTHING, "one\n\ntwo");
    expect(grow(before, "one\n\ntwo and more").open[0]).toBe(before.open[0]);
  });

  it("change only where they refer to a definition that comes late", () => {
    const text = "one\n\n[two][b]\n\n[three]\n\nfour\n\nfive\n\nsix\n\n";
    const before = grow(NOTHING, text);
    const after = grow(before, `${text}[B]: https://e.org/b`);
    expect(grown(after)).toEqual(once(`${text}[B]: https://e.org/b`));
    expect(before.settled.length).toBe(3);
    expect(before.settled.map((block, at) => block === after.settled[at])).toEqual([true, false, true]);
  });
});

const LINE = "heron in the reeds";
const lines = (count: number, line: (at: number) => string) =>
  Array.from({ length: count }, (_, at) => line(at)).join("\n");

/** Returns the length of the longest text lexed during `act`. */
function longestLexed(act: () => void): number {
  const spy = vi.spyOn(Lexer.prototype, "blockTokens");
  act();
  const lengths = spy.mock.calls.map(([text]) => text.length);
  spy.mockRestore();
  return Math.max(...lengths);
}

describe.each([
  ["a list", lines(300, () => `- ${LINE}`)],
  ["a loose list", lines(300, () => `\n- ${LINE}`)],
  ["a list with an empty line at its beginning", `- a\n\n${lines(300, () => `- ${LINE}`)}`],
  ["a list of tasks", lines(300, () => `- [ ] ${LINE}`)],
  ["a list with lists in it", lines(150, (at) => `${100 + at}) ${LINE}\n     - ${LINE}`)],
  ["a table", `| a | b |\n|---|---|\n${lines(300, (at) => `| ${at} | ${LINE}`)}`],
])("%s that grows", (_, text) => {
  const more = `${text} and`;
  const childrenOf = ({ open }: Blocks): unknown[] => {
    const token = open[0]?.token as Token;
    return token.type === "table" ? (token as Tokens.Table).rows : (token as Tokens.List).items;
  };

  it("lexes only its end", () => {
    const before = grow(NOTHING, text);
    expect(longestLexed(() => grow(before, more))).toBeLessThan(300);
  });

  it("keeps all items or rows but the last", () => {
    const before = grow(NOTHING, text);
    const after = grow(before, more);
    expect(grown(after)).toEqual(once(more));
    const [old, now] = [childrenOf(before), childrenOf(after)];
    expect(now.slice(0, -1).every((child, at) => child === old[at])).toBe(true);
    expect(now.at(-1)).not.toBe(old.at(-1));
  });
});

/** Pieces that meet badly. */
const PIECES = [
  ...'$$ \\[ \\] $x$ $ a > # === --- ``` ~~~ | ** _ ` " ] [ < \\ <div> </div> <br> <kbd> <!-- --> &nbsp;'.split(
    " ",
  ),
  ...["\n", "\n", "\n\n", "\n\n", " b", "   ", "    ", "\t", "\r\n", "---\n", "===\n", "```\n"],
  ...["[r]", "[t][r]", "![p][R]", "\n\n[r]: https://e.org\n", "[r]: x", '[R]: <y> "t"', "\n'title'\n"],
  ...[
    "- ",
    "\n- ",
    "\n- a",
    "\n\n- b",
    "* ",
    "\n1. ",
    "\n2. c",
    "3) ",
    "\n   - ",
    "\n     - d",
    "\n  e",
    "\n- > f",
  ],
  ...["[ ] ", "- [x] ", "\n- [ ] g", "\n\n  [ ] h"],
  ...["| a | b |\n|---|---|\n", "\n| 1 | [r] |", "| c |", "<a href='x'>", "</a>", "https://e.org/x_y"],
];

describe("pieces that grow", () => {
  it.each([
    ["piece", 1_000, (pieces: string[]) => pieces],
    ["letter", 300, (pieces: string[]) => pieces.join("")],
  ])("give the blocks of the whole text after each %s", (_, numRuns, steps) => {
    const pieces = fc.array(fc.constantFrom(...PIECES), { maxLength: 25 });
    fc.assert(
      fc.property(pieces, (pieces) => expectSameAsAtOnce(steps(pieces))),
      { numRuns },
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
