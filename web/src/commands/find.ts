// Which commands and sessions a few typed letters mean.

/** The words of what was typed, in small letters. */
export function wordsOf(typed: string): string[] {
  return typed.toLowerCase().split(/\s+/).filter(Boolean);
}

/** How well a title fits: a word that begins with what was typed counts more; none when a word is nowhere in it. */
export function fit(title: string, words: readonly string[]): number | undefined {
  const text = title.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const at = text.indexOf(word);
    if (at < 0) return undefined;
    sum += at === 0 ? 3 : beginsWord(text, word) ? 2 : 1;
  }
  return sum;
}

function beginsWord(text: string, word: string): boolean {
  return new RegExp(`(?<![\\p{L}\\p{N}])${escaped(word)}`, "u").test(text);
}

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Those that fit, the best first, otherwise in their order. */
export function fitting<T>(all: readonly T[], titleOf: (one: T) => string, words: readonly string[]): T[] {
  if (words.length === 0) return [...all];
  return all
    .flatMap((one) => {
      const fits = fit(titleOf(one), words);
      return fits === undefined ? [] : [{ one, fits }];
    })
    .toSorted((one, other) => other.fits - one.fits)
    .map(({ one }) => one);
}
