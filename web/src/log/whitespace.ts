// Trims by the Unicode property White_Space, as the server does. `String.prototype.trim` differs: it includes
// U+FEFF and excludes U+0085.

const SPACE = /^\p{White_Space}$/u;

export function trimStart(text: string): string {
  return text.replace(/^\p{White_Space}+/u, "");
}

/** Scans from the end: a pattern anchored at the end would try every run of white space in a long text. */
export function trimEnd(text: string): string {
  let end = text.length;
  while (end > 0 && SPACE.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

export function trim(text: string): string {
  return trimEnd(trimStart(text));
}
