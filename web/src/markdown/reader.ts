// The Markdown lexer, configured so that no block depends on text behind its end or on earlier blocks. Streamed
// text is lexed block by block; a longer reach would make it look different after a reload.

import { Lexer, Marked, Tokenizer, type Links, type Token, type Tokens } from "marked";

import { beforeEmptyLine, blockFormulaAt, formulaExtensions } from "./maths";

/** Lists and quotations inside each other. Deeper ones are text: lexing recurses. */
const NESTING_MAX = 24;
/** Columns of a table. A wider one is text. */
const COLUMNS_MAX = 100;
/** Characters that may be markup in one run of words. A run with more is text: lexing takes quadratic time. */
const MARKS_MAX = 1_000;

let nesting = 0;

/** Lexes a list or quotation, unless it is nested too deep. */
function nested<T>(lex: () => T): T | undefined {
  if (nesting >= NESTING_MAX) return undefined;
  nesting += 1;
  try {
    return lex();
  } finally {
    nesting -= 1;
  }
}

function isDense(text: string): boolean {
  if (text.length <= MARKS_MAX) return false;
  let marks = 0;
  for (const _ of text.matchAll(/[*_~`[\]!$<\\]/g)) {
    marks += 1;
    if (marks > MARKS_MAX) return true;
  }
  return false;
}

export const reader = new Marked({
  gfm: true,
  extensions: formulaExtensions,
  tokenizer: {
    // A paragraph ends before a formula. An extension with `start` would do the same, but then marked joins the
    // paragraphs before a formula, and blocks would depend on later text.
    paragraph(source) {
      const at = blockFormulaAt(source.slice(1));
      return at === undefined ? false : Tokenizer.prototype.paragraph.call(this, source.slice(0, at + 1));
    },
    // A setext underline does not reach across a formula.
    lheading(source) {
      const at = blockFormulaAt(source);
      return at === undefined ? false : Tokenizer.prototype.lheading.call(this, source.slice(0, at));
    },
    // A title ends before an empty line, as CommonMark requires; marked searches the whole text for its end.
    def(source) {
      if (!/^ {0,3}\[/.test(source)) return undefined;
      return Tokenizer.prototype.def.call(this, source.slice(0, beforeEmptyLine(source)));
    },
    // A line that starts with a line break is a paragraph, so that Markdown in it is parsed.
    html: (source) => (/^ {0,3}<br *\/?>/i.test(source) ? undefined : false),
    blockquote(source) {
      return nested(() => Tokenizer.prototype.blockquote.call(this, source));
    },
    table(source) {
      const columns = /^[^\n]*/.exec(source)?.[0].split("|").length ?? 0;
      return columns > COLUMNS_MAX + 2 ? undefined : false;
    },
    list(source) {
      const first = this.lexer.inlineQueue.length;
      const list = nested(() => Tokenizer.prototype.list.call(this, source));
      if (list?.items.some(({ task }) => task)) restoreWords(this.lexer, list, first);
      return list;
    },
  },
});

/**
 * Restores the source of each queued inline run from its own token. marked strips the task checkbox from the
 * last run that looks like one, which may belong to another item.
 */
function restoreWords(lexer: Lexer, list: Tokens.List, first: number): void {
  const queued = new Map(lexer.inlineQueue.slice(first).map((run) => [run.tokens, run]));
  void reader.walkTokens([list], (token) => {
    for (const owner of token.type === "table" ? cellsOf(token as Tokens.Table) : [token as Tokens.Generic]) {
      const run = owner.tokens && queued.get(owner.tokens);
      if (run === undefined || typeof owner.text !== "string") continue;
      const [mark] = run.tokens;
      run.src = mark?.type === "checkbox" ? owner.text.slice(mark.raw.length) : owner.text;
    }
  });
}

function cellsOf({ header, rows }: Tokens.Table): Tokens.TableCell[] {
  return [...header, ...rows.flat()];
}

/** Returns a lexer with the block tokens of a text. Inline tokens follow once all definitions are known. */
export function lexBlocks(text: string): Lexer {
  const lexer = new Lexer(reader.defaults);
  lexer.blockTokens(text, lexer.tokens);
  return lexer;
}

/** Lexes the inline tokens of a lexer's blocks, with the definitions for reference links. */
export function lexWords(lexer: Lexer, links: Links): void {
  lexer.tokens.links = links;
  for (const { src, tokens } of lexer.inlineQueue) {
    // An unclosed element ends with its block.
    lexer.state.inRawBlock = false;
    lexer.state.inLink = false;
    if (isDense(src)) tokens.push({ type: "text", raw: src, text: src, escaped: false });
    else lexer.inlineTokens(src, tokens);
  }
}

export const NO_LINKS: Links = Object.freeze(Object.create(null) as Links);

/** Returns `links` extended by the definitions in some blocks. The first definition of a label wins. */
export function withDefinitions(links: Links, tokens: readonly Token[]): Links {
  const found = definitionsIn(tokens).filter(({ tag }) => !(tag in links));
  if (found.length === 0) return links;
  const all = Object.assign(Object.create(null) as Links, links);
  for (const { tag, href, title } of found) all[tag] ??= { href, title };
  return all;
}

function definitionsIn(tokens: readonly Token[]): Tokens.Def[] {
  return tokens.flatMap((token) => {
    if (!token.raw.includes("]:")) return [];
    if (token.type === "def") return [token as Tokens.Def];
    if (token.type === "list") return definitionsIn((token as Tokens.List).items);
    if (token.type === "list_item" || token.type === "blockquote")
      return definitionsIn((token as Tokens.ListItem | Tokens.Blockquote).tokens);
    return [];
  });
}

/** Returns the blocks of a text that does not grow. */
export function lex(text: string): Token[] {
  const lexer = lexBlocks(unixLines(text));
  lexWords(lexer, withDefinitions(NO_LINKS, lexer.tokens));
  return [...lexer.tokens];
}

/** Converts line endings to line feeds. All offsets count in this text. */
export function unixLines(text: string): string {
  return text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
}
