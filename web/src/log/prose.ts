import type { TurnView } from "./types";
import { variant } from "./variants";

/** What the agent wrote in a turn, without its steps. */
export function proseOf(turn: TurnView | undefined): string {
  return turn?.answer?.parts.flatMap((part) => variant(part, "text") ?? []).join("\n\n") ?? "";
}

export function wordsIn(text: string): number {
  return text.split(/\s+/).filter((word) => word !== "").length;
}
