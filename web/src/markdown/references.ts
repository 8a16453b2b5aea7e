// Which blocks have to be lexed again because a definition came or changed.

import type { Links } from "marked";

/** The labels whose definitions differ. */
export function changedLabels(before: Links, now: Links): string[] {
  if (before === now) return [];
  return Object.keys({ ...before, ...now }).filter((label) => {
    const [one, other] = [before[label], now[label]];
    return one?.href !== other?.href || one?.title !== other?.title;
  });
}

/** Whether a text may refer to one of these labels. It may say so of a text that does not. */
export function mayRefer(text: string, labels: readonly string[]): boolean {
  if (labels.length === 0 || !text.includes("[")) return false;
  const bare = folded(text);
  return labels.some((label) => bare.includes(`[${folded(label)}]`));
}

/** Without case, and without what may stand inside a label only in the source: indents, quote marks, escapes. */
function folded(text: string): string {
  return text
    .replace(/[\s>\\|]+/g, "")
    .toLowerCase()
    .toUpperCase();
}
