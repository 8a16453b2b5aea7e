// Splits streamed text into answer and reasoning where a model wraps its reasoning in tags: the twin of the server's
// `tags.rs`. A tag counts only as the first thing of a step, and may be cut anywhere by the stream.

import type { Piece, TagState } from "./types";
import { variant } from "./variants";
import { trim, trimStart } from "./whitespace";

const TAGS: readonly (readonly [string, string])[] = [
  ["<think>", "</think>"],
  ["<thinking>", "</thinking>"],
  ["<reasoning>", "</reasoning>"],
];

type Kind = "text" | "reasoning";

/** Where a run's text stands, and what it has brought. */
interface Tagged {
  tags: TagState;
  pieces: Piece[];
}

export const START: TagState = { Opening: "" };

/** Adds to the last piece when it is of the same kind, and otherwise begins one. */
export function push(pieces: readonly Piece[], kind: Kind, text: string): Piece[] {
  const last = pieces.at(-1);
  if (kind === "text") {
    const before = variant(last, "text");
    return before === undefined ? [...pieces, { text }] : [...pieces.slice(0, -1), { text: before + text }];
  }
  const before = variant(last, "reasoning");
  if (before === undefined) return [...pieces, { reasoning: text }];
  return [...pieces.slice(0, -1), { reasoning: before + text }];
}

/** Takes the next text and hands on what is settled. */
export function feed(run: Tagged, text: string): Tagged {
  const { tags, pieces } = run;
  const [opening, reasoning] = [variant(tags, "Opening"), variant(tags, "Reasoning")];
  if (opening !== undefined) return open(opening + text, pieces);
  if (reasoning !== undefined) return close(reasoning.tag, reasoning.held + text, pieces);
  // Tag states of a newer version hold no text back.
  return { tags, pieces: push(pieces, "text", text) };
}

/** Hands on what is still held back, as what it is. */
export function finish(run: Tagged): Tagged {
  const { tags, pieces } = run;
  const [opening, reasoning] = [variant(tags, "Opening"), variant(tags, "Reasoning")];
  if (opening === undefined && reasoning === undefined) return run;
  const kind = reasoning === undefined ? "text" : "reasoning";
  const held = reasoning?.held ?? opening ?? "";
  return { tags: "Answer", pieces: held === "" ? pieces : push(pieces, kind, held) };
}

/** Hands on what is held back because something else follows; reasoning may go on after it. */
export function flush(run: Tagged): Tagged {
  const { tags, pieces } = run;
  const [opening, reasoning] = [variant(tags, "Opening"), variant(tags, "Reasoning")];
  if (opening !== undefined) return trim(opening) === "" ? run : finish(run);
  if (reasoning === undefined || reasoning.held === "") return run;
  const { tag, held } = reasoning;
  return { tags: { Reasoning: { tag, held: "" } }, pieces: push(pieces, "reasoning", held) };
}

function open(held: string, pieces: Piece[]): Tagged {
  const trimmed = trimStart(held);
  const tag = TAGS.findIndex(([open]) => trimmed.startsWith(open));
  if (tag >= 0) return close(tag, trimmed.slice((TAGS[tag]?.[0] ?? "").length), pieces);
  if (trimmed === "" || TAGS.some(([open]) => open.startsWith(trimmed)))
    return { tags: { Opening: held }, pieces };
  return { tags: "Answer", pieces: push(pieces, "text", held) };
}

function close(tag: number, text: string, pieces: Piece[]): Tagged {
  const end = TAGS[tag]?.[1] ?? "";
  const at = text.indexOf(end);
  if (at >= 0) {
    const rest = text.slice(at + end.length);
    const before = at > 0 ? push(pieces, "reasoning", text.slice(0, at)) : pieces;
    return { tags: "Answer", pieces: rest === "" ? before : push(before, "text", rest) };
  }
  // The longest end of the text that may be the beginning of the closing tag waits for what follows.
  let keep = end.length - 1;
  while (keep > 0 && !text.endsWith(end.slice(0, keep))) keep -= 1;
  const settled = text.slice(0, text.length - keep);
  const held = text.slice(text.length - keep);
  return {
    tags: { Reasoning: { tag, held } },
    pieces: settled === "" ? pieces : push(pieces, "reasoning", settled),
  };
}
