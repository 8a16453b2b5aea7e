// Finds the blocks to lex again after a link definition was added or changed.

import type { Links } from "marked";

/** Returns the labels whose definitions differ. */
export function changedLabels(before: Links, now: Links): string[] {
  if (before === now) return [];
  return Object.keys({ ...before, ...now }).filter((label) => {
    const [one, other] = [before[label], now[label]];
    return one?.href !== other?.href || one?.title !== other?.title;
  });
}

/** Returns whether a text may refer to one of these labels. False positives are possible. */
export function mayRefer(text: string, labels: readonly string[]): boolean {
  if (labels.length === 0 || !text.includes("[")) return false;
  const bare = folded(text);
  return labels.some((label) => bare.includes(`[${folded(label)}]`));
}

/** Removes case and everything that may interrupt a label in the source only: indents, quote marks, escapes. */
function folded(text: string): string {
  return text
    .replace(/[\s>\\|]+/g, "")
    .toLowerCase()
    .toUpperCase();
}
