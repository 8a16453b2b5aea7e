// Markdown that grows: only what stands behind the last settled block is read again. The last two blocks stay open,
// because what follows may still change them (a list becomes loose, a line becomes a heading).

import { Lexer, type Token } from "marked";

export interface Block {
  /** Where it begins in the text: its name for as long as the text only grows. */
  at: number;
  token: Token;
}

export interface Blocks {
  text: string;
  settled: readonly Block[];
  open: readonly Block[];
  /** How much of the text the settled blocks take. */
  end: number;
}

export const NOTHING: Blocks = { text: "", settled: [], open: [], end: 0 };

const OPEN_BLOCKS = 2;

/** The blocks of a text, going on from those of its beginning. */
export function grow(before: Blocks, text: string): Blocks {
  if (text === before.text) return before;
  const goesOn = text.startsWith(before.text);
  const settled = goesOn ? before.settled : [];
  const end = goesOn ? before.end : 0;
  const blocks: Block[] = [];
  let at = end;
  for (const token of Lexer.lex(text.slice(end), { gfm: true })) {
    if (token.type !== "space") blocks.push({ at, token });
    at += token.raw.length;
  }
  const keep = Math.max(0, blocks.length - OPEN_BLOCKS);
  const open = blocks.slice(keep);
  return {
    text,
    settled: keep === 0 ? settled : [...settled, ...blocks.slice(0, keep)],
    open,
    end: open[0]?.at ?? end,
  };
}
