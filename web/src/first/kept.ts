// Counts the words of an answer that are unchanged after an interruption.

import { wordsIn } from "../log/prose";

/** Returns how many words of `before` start `after`. The last one may be a prefix of a longer word now. */
export function wordsKept(before: string, after: string): number {
  if (after.startsWith(before)) return wordsIn(before);
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");
  const [old, now] = [words(before), words(after)];
  const changed = old.findIndex((word, at) => word !== now[at]);
  return changed < 0 ? old.length : changed;
}
