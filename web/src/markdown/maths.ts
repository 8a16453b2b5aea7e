// Formulas in markdown: `$$…$$` and `\[…\]` on lines of their own, and `\(…\)`, `\[…\]`, `$$…$$` and `$…$` in a line.
// A dollar is far more often money than a formula, so that form is read with care.

import type { TokenizerExtension, Tokens } from "marked";

export interface Formula extends Tokens.Generic {
  type: "formula";
  raw: string;
  /** What stands between the marks. */
  text: string;
  display: boolean;
  /** Without its end it is no formula yet, and shown as it was written. */
  closed: boolean;
}

/** Where to stop looking for the end of a formula in a line, so that marks without an end cost little. */
const INLINE_LETTERS_MAX = 2_000;

const BLOCK_MARKS: readonly (readonly [begin: RegExp, end: string])[] = [
  [/^ {0,3}\$\$(?!\$)/, "$$"],
  [/^ {0,3}\\\[/, "\\]"],
];

/**
 * The formula that a text begins with, up to the end of a line. Like a fence it goes on to its end, whatever stands in
 * between; unlike one it never goes past an empty line. So what follows can only change the last block.
 */
export function blockFormula(source: string): Formula | undefined {
  for (const [begin, end] of BLOCK_MARKS) {
    const mark = begin.exec(source)?.[0];
    if (mark === undefined) continue;
    const stretch = source.slice(0, beforeEmptyLine(source));
    const at = stretch.indexOf(end, mark.length);
    if (at < 0) return formula(stretch, stretch.slice(mark.length), { display: true, closed: false });
    const rest = /^[ \t]*(?:\n|$)/.exec(stretch.slice(at + end.length))?.[0];
    const text = stretch.slice(mark.length, at);
    if (rest === undefined || text.trim() === "") return undefined;
    const raw = stretch.slice(0, at + end.length + rest.length);
    return formula(raw, text, { display: true, closed: true });
  }
  return undefined;
}

function formula(raw: string, text: string, how: { display: boolean; closed: boolean }): Formula {
  return { type: "formula", raw, text: text.trim(), ...how };
}

/** Returns the length of the text before the first empty line. */
export function beforeEmptyLine(source: string): number {
  const at = source.search(/\n[ \t]*\n/);
  return at < 0 ? source.length : at + 1;
}

/** Where a block of its own begins inside a paragraph. */
export function blockFormulaAt(source: string): number | undefined {
  const paragraph = source.slice(0, beforeEmptyLine(source));
  for (const { index } of paragraph.matchAll(/(?<=\n) {0,3}(?:\$\$|\\\[)/g))
    if (blockFormula(source.slice(index)) !== undefined) return index;
  return undefined;
}

const INLINE_FORMS: readonly { form: RegExp; display: boolean; holds: (text: string) => boolean }[] = [
  {
    form: new RegExp(String.raw`^\\\(((?:[^\\]|\\[^)]){1,${INLINE_LETTERS_MAX}}?)\\\)`),
    display: false,
    holds: () => true,
  },
  {
    form: new RegExp(String.raw`^\\\[((?:[^\\]|\\[^\]]){1,${INLINE_LETTERS_MAX}}?)\\\]`),
    display: true,
    // Brackets are escaped in prose too: \[sic\].
    holds: (text) => /[\\^_=]/.test(text),
  },
  {
    form: new RegExp(String.raw`^\$\$(?!\$)((?:[^\\$]|\\[^]){1,${INLINE_LETTERS_MAX}})\$\$(?!\$)`),
    display: true,
    holds: () => true,
  },
  {
    form: new RegExp(String.raw`^\$((?:[^\\$\n]|\\[^\n]){1,${INLINE_LETTERS_MAX}})\$(?![\p{L}\p{N}$])`, "u"),
    display: false,
    holds: (text) => text.trim() === text && (!hasWords(text) || /[\\^_=<>+]/.test(text)),
  },
];

/** Words between two dollars: 5 and 10. */
function hasWords(text: string): boolean {
  return /\s\p{L}{2,}|\p{L}{2,}\s/u.test(text);
}

/** The formula that a line goes on with, after what was read of it. */
export function inlineFormula(source: string, before: string): Formula | undefined {
  // US$5 is money, and so is what follows it.
  if (source.startsWith("$") && /[\p{L}\p{N}$]$/u.test(before)) return undefined;
  for (const { form, display, holds } of INLINE_FORMS) {
    const [raw, text] = form.exec(source) ?? [];
    if (raw !== undefined && text !== undefined && text.trim() !== "" && holds(text))
      return formula(raw, text, { display, closed: true });
  }
  return undefined;
}

const inBlocks: TokenizerExtension = {
  name: "formula",
  level: "block",
  tokenizer: (source) => blockFormula(source),
};

const inLines: TokenizerExtension = {
  name: "formula",
  level: "inline",
  start(source) {
    const at = source.search(/\$|\\[([]/);
    return at < 0 ? undefined : at;
  },
  tokenizer: (source, tokens) => inlineFormula(source, tokens.at(-1)?.raw ?? ""),
};

/** The marked extensions for formulas. */
export const formulaExtensions: TokenizerExtension[] = [inBlocks, inLines];
