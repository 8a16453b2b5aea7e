import type { TurnView } from "./types";

/** What the agent wrote in a turn, without its steps. */
export function proseOf(turn: TurnView | undefined): string {
  return turn?.answer?.parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n\n") ?? "";
}

export function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}
