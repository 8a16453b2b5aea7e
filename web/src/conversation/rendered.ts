// The rendered text of a turn, without Markdown syntax.

import type { Token, Tokens } from "marked";

import type { Part, TurnView } from "../log/types";
import { NOTHING, grow } from "../markdown/blocks";
import { decoded } from "../markdown/entities";
import { BLOCK_END, folded } from "./matches";

const known = new WeakMap<TurnView, string>();

/** Returns the text of a turn, folded for search: the message, the answer and steering messages. */
export function foldedWords(turn: TurnView): string {
  let words = known.get(turn);
  if (words === undefined) {
    const parts = (turn.answer?.parts ?? []).map(partWords);
    words = folded([turn.message.text, ...parts].join(BLOCK_END));
    known.set(turn, words);
  }
  return words;
}

function partWords(part: Part): string {
  if ("text" in part) return renderedText(part.text);
  return "steered" in part ? part.steered.message.text : "";
}

/** Returns the rendered text of Markdown. Formulas and images are represented by their source. */
export function renderedText(markdown: string): string {
  const { settled, open } = grow(NOTHING, markdown);
  return [...settled, ...open].map(({ token }) => wordsOf(token)).join(BLOCK_END);
}

function wordsOf(token: Token): string {
  switch (token.type) {
    case "list":
      return blocks((token as Tokens.List).items);
    case "list_item":
    case "blockquote":
      return blocks((token as Tokens.ListItem | Tokens.Blockquote).tokens);
    case "table": {
      const { header, rows } = token as Tokens.Table;
      return [...header, ...rows.flat()].map(inline).join(BLOCK_END);
    }
    case "br":
      return "\n";
    case "space":
    case "def":
    case "hr":
    case "checkbox":
      return "";
    case "code":
    case "codespan":
      return (token as Tokens.Code | Tokens.Codespan).text;
    default:
      return hasTokens(token) ? inline(token) : plain(token);
  }
}

function hasTokens(token: Token): token is Token & { tokens: Token[] } {
  return "tokens" in token && Array.isArray(token.tokens);
}

function inline({ tokens }: { tokens: Token[] }): string {
  return tokens.map(wordsOf).join("");
}

function blocks(tokens: readonly Token[]): string {
  return tokens.map(wordsOf).join(BLOCK_END);
}

/** Returns the text of a token as rendered: character references are decoded, HTML is not. */
function plain(token: Token): string {
  if (token.type === "html" || !("text" in token) || typeof token.text !== "string") return token.raw;
  return decoded(token.text);
}
