// Finding words in a text without regard to case, accents and line breaks, and where they stand in the original.

/** Between two blocks of a text: no words go on over it. */
export const BLOCK_END = "\u0000";

/** A place in a text, in UTF-16 units; `end` is not part of it. */
export interface Match {
  start: number;
  end: number;
}

const ACCENTS = /[\u0300-\u036f]/g;
/** A letter with its accents, or whitespace: what is folded alone and together is the same. */
const LETTERS = /\s+|\P{M}\p{M}*|\p{M}+/gu;

/** A text without case and accents. By way of capitals, because only they tell that ß is ss and ς is σ. */
export function folded(text: string): string {
  return text
    .normalize("NFD")
    .replace(ACCENTS, "")
    .toUpperCase()
    .toLowerCase()
    .replaceAll("ς", "σ")
    .replace(/\s+/g, " ");
}

/** Every place where a text has the words, which are folded already. A letter that folds into several is matched whole. */
export function matchesIn(text: string, words: string): Match[] {
  if (words === "" || !folded(text).includes(words)) return [];
  const { letters, starts, ends } = mapped(text);
  const found: Match[] = [];
  for (let at = letters.indexOf(words); at >= 0; at = letters.indexOf(words, at + words.length)) {
    const [start, end] = [starts[at] ?? 0, ends[at + words.length - 1] ?? 0];
    // Of a letter that matches twice, like the s of ß, the second time is the same place.
    if (start >= (found.at(-1)?.end ?? 0)) found.push({ start, end });
  }
  return found;
}

/** A folded text, with the place in the original of each of its units. */
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
