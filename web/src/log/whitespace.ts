// White space as the server takes it: Unicode's property. `trim` differs: it knows U+FEFF and does not know U+0085.

const SPACE = /^\p{White_Space}$/u;

export function trimStart(text: string): string {
  return text.replace(/^\p{White_Space}+/u, "");
}

/** Reads from the end: a pattern bound to the end would look at every stretch of white space in a long text. */
export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

export function trim(text: string): string {
  return trimEnd(trimStart(text));
}
