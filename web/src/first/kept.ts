// How much of what was there before is still there, where it was.

import { wordsIn } from "../log/prose";

/** Words of `before` with which `after` begins. The last one may have been half of a word, which has grown since. */
export function wordsKept(before: string, after: string): number {
  if (after.startsWith(before)) return wordsIn(before);
  const words = (text: string) => text.split(/\s+/).filter((word) => word !== "");
  const [old, now] = [words(before), words(after)];
  const changed = old.findIndex((word, at) => word !== now[at]);
  return changed < 0 ? old.length : changed;
}
