// Searches text without regard to case, accents and line breaks, and maps each match back to the original.

/** Separates two blocks of a text. A match never spans it. */
export const BLOCK_END = "\u0000";

/** A range of UTF-16 units. `end` is exclusive. */
export interface Match {
  start: number;
  end: number;
}

const ACCENTS = /[\u0300-\u036f]/g;
/** A letter with its accents, or a run of whitespace: units that fold the same alone and in context. */
const LETTERS = /\s+|\P{M}\p{M}*|\p{M}+/gu;

/** Removes case and accents. Goes through upper case, which alone maps ß to ss and ς to σ. */
export function folded(text: string): string {
  return text
    .normalize("NFD")
    .replace(ACCENTS, "")
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ")
    .replace(/\s+/g, " ");
}

/**
 * Returns every range that matches the words, which are already folded. A letter that folds into several is matched whole.
 */
export function matchesIn(text: string, words: string): Match[] {
  if (words === "" || !folded(text).includes(words)) return [];
  const { letters, starts, ends } = mapped(text);
  const found: Match[] = [];
  for (let at = letters.indexOf(words); at >= 0; at = letters.indexOf(words, at + words.length)) {
    const [start, end] = [starts[at] ?? 0, ends[at + words.length - 1] ?? 0];
    // One letter can match twice, like the s of ß. The second match is the same range.
    if (start >= (found.at(-1)?.end ?? 0)) found.push({ start, end });
  }
  return found;
}

/** Returns the folded text and, for each of its units, the range in the original. */
function mapped(text: string) {
  const [starts, ends]: [number[], number[]] = [[], []];
  let letters = "";
  for (const { 0: letter, index } of text.matchAll(LETTERS)) {
    const plain = folded(letter);
    letters += plain;
    for (let unit = 0; unit < plain.length; unit += 1) {
      starts.push(index);
      ends.push(index + letter.length);
    }
  }
  return { letters, starts, ends };
}
