// Markdown that grows: only what stands behind the last settled block is read again. The last two blocks stay open,
// because what follows may still change them (a list becomes loose, a line becomes a heading).

import type { Token, Tokens } from "marked";

import { reader } from "./maths";

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
  // The whole beginning is compared each time; `startsWith` does that letter by letter, which a long answer would feel.
  const goesOn = text.slice(0, before.text.length) === before.text;
  const settled = goesOn ? before.settled : [];
  const end = goesOn ? before.end : 0;
  const blocks: Block[] = [];
  let at = end;
  for (const token of reader.lexer(text.slice(end))) {
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

/** Whether a block of code can grow no more: its last line is a fence like its first. */
export function isClosed(code: Tokens.Code): boolean {
  if (code.codeBlockStyle === "indented") return false;
  const lines = code.raw.trimEnd().split("\n");
  const fence = /^ {0,3}(`{3,}|~{3,})/.exec(lines[0] ?? "")?.[1];
  const last = lines.at(-1)?.trim() ?? "";
  return fence !== undefined && lines.length > 1 && last.startsWith(fence) && /^(`+|~+)$/.test(last);
}
