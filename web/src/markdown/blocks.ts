// Incremental Markdown: lexes only the text behind the last settled block, item or row. The last three stay
// open, because later text may change them: a line becomes a heading, an item continues. The result equals
// lexing the whole text; earlier blocks only save work and keep the identity of unchanged parts.

import type { Links, Token, Tokens } from "marked";

import { childrenOf, headOf, joined, type Head } from "./head";
import { NO_LINKS, lexBlocks, lexWords, unixLines, withDefinitions } from "./reader";
import { changedLabels, mayRefer } from "./references";
import { share } from "./share";

export interface Block {
  /** The offset in the text, with line feeds only. It identifies the block while the text only grows. */
  at: number;
  token: Token;
}

export interface Blocks {
  text: string;
  settled: readonly Block[];
  open: readonly Block[];
  /** The length of the settled text. */
  end: number;
  /** The settled part of the first open block. */
  head: Head | undefined;
  /** The link definitions in the settled text. */
  defined: Links;
  /** The link definitions in the whole text. */
  links: Links;
}

export const NOTHING: Blocks = {
  text: "",
  settled: [],
  open: [],
  end: 0,
  head: undefined,
  defined: NO_LINKS,
  links: NO_LINKS,
};

/**
 * The number of blocks, items or rows that stay open. A table ends the paragraph before it, but needs two more
 * lines to be recognized.
 */
const OPEN = 3;

/** Returns the blocks of a text, extending those of its beginning. */
export function grow(before: Blocks, source: string): Blocks {
  const text = unixLines(source);
  if (text === before.text) return before;
  // Comparing slices is faster than `startsWith`, which compares letter by letter.
  const goesOn = text.slice(0, before.text.length) === before.text;
  return extend(goesOn ? before : NOTHING, text);
}

function extend(before: Blocks, text: string): Blocks {
  const { head, end, defined } = before;
  const lead = head?.lead ?? "";
  const lexer = lexBlocks(lead + text.slice(end));
  const links = withDefinitions(defined, lexer.tokens);
  const changed = changedLabels(before.links, links);
  if (head !== undefined && mayRefer(text.slice(head.at, end), changed))
    return extend(withoutHead(before, head), text);
  lexWords(lexer, links);
  const blocks = placed(lexer.tokens, end - lead.length);
  if (head !== undefined) {
    const token = joined(text, head, blocks[0]?.token);
    if (token === undefined) return extend(withoutHead(before, head), text);
    blocks[0] = { at: head.at, token };
  }
  const open = blocks.map((block) => sharedWith(before.open, block));
  const settled = relinked(before, text, changed, links);
  return settle({ text, settled, open, end, head, defined, links });
}

/** Returns a state that lexes the list or table from its start. */
function withoutHead(before: Blocks, { at }: Head): Blocks {
  return { ...before, end: at, head: undefined };
}

/** Returns the tokens with their offsets. */
function placed(tokens: readonly Token[], from: number): Block[] {
  const blocks: Block[] = [];
  let at = from;
  for (const token of tokens) {
    if (token.type !== "space") blocks.push({ at, token });
    at += token.raw.length;
  }
  return blocks;
}

function sharedWith(before: readonly Block[], block: Block): Block {
  const same = before.find(({ at }) => at === block.at);
  return same === undefined ? block : share(same, block);
}

/** Returns the settled blocks. Lexes a block again if it refers to a label whose definition changed. */
function relinked(before: Blocks, text: string, changed: readonly string[], links: Links): readonly Block[] {
  const { settled, open, end } = before;
  if (changed.length === 0) return settled;
  return settled.map((block, place) => {
    const next = settled[place + 1] ?? open[0];
    const source = text.slice(block.at, next?.at ?? end);
    if (!mayRefer(source, changed)) return block;
    const lexer = lexBlocks(source);
    lexWords(lexer, links);
    const token = lexer.tokens[0];
    return token === undefined ? block : share(block, { at: block.at, token });
  });
}

/** Settles all but the last `OPEN` blocks, items and rows. */
function settle(blocks: Blocks): Blocks {
  const { text, settled, open } = blocks;
  const { place, count } = firstToStayOpen(open);
  const block = open[place];
  if (block === undefined) return blocks;
  const head = count === 0 ? undefined : headOf(text, block.at, block.token, count);
  const ready = open.slice(0, place).map(({ token }) => token);
  const items = block.token.type === "list" ? (block.token as Tokens.List).items.slice(0, count) : [];
  return {
    ...blocks,
    settled: [...settled, ...open.slice(0, place)],
    open: open.slice(place),
    end: head?.end ?? block.at,
    head,
    defined: withDefinitions(blocks.defined, [...ready, ...items]),
  };
}

/** Returns the first block that stays open, and how many of its children settle. */
function firstToStayOpen(open: readonly Block[]): { place: number; count: number } {
  let left = OPEN;
  let place = open.length;
  while (place > 0) {
    place -= 1;
    const children = childrenOf((open[place] as Block).token).length;
    if (children >= left) return { place, count: children - left };
    left -= Math.max(1, children);
    if (left === 0) break;
  }
  return { place, count: 0 };
}

/** Returns whether a code block is closed: its last line is a fence like its first. */
export function isClosed(code: Tokens.Code): boolean {
  if (code.codeBlockStyle === "indented") return false;
  const lines = code.raw.trimEnd().split("\n");
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(lines[0] ?? "")?.[1];
  const last = lines.at(-1)?.trim() ?? "";
  return fence !== undefined && lines.length > 1 && last.startsWith(fence) && /^(`+|~+)$/.test(last);
}
