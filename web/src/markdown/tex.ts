// Draws formulas. Fetched with its fonts when the first formula is seen.

import katex from "katex";
import "katex/dist/katex.min.css";

/** Longer ones are shown as they were written. */
const TEX_LETTERS_MAX = 3_000;
/** Deeper ones are shown as they were written: the browser's layout recurses, and a tab crashes from about 150 on. */
const DEPTH_MAX = 30;
/** Macros that may be expanded in one formula. */
const EXPANSIONS_MAX = 200;
/** In em: as wide and high as a rule or a space may be. */
const SIZE_MAX = 40;

/**
 * For these the MathML would have a `style` attribute, which the page's policy forbids. They are drawn without it; the
 * source stands beside them.
 */
const STYLED = /\\(pmb|fcolorbox)\b/;

/** Returns how deep groups are nested. */
export function depthOf(text: string): number {
  let depth = 0;
  let most = 0;
  for (const [mark] of text.matchAll(/\\left\b|\\right\b|\\begin\b|\\end\b|\\[^]|[{}]/g)) {
    if (mark === "{" || mark === "\\left" || mark === "\\begin") most = Math.max(most, ++depth);
    else if (mark === "}" || mark === "\\right" || mark === "\\end") depth -= 1;
  }
  return most;
}

/** Draws into an element of its own; tells whether it could. */
export function draw(place: HTMLElement, text: string, display: boolean): boolean {
  if (text.length > TEX_LETTERS_MAX || depthOf(text) > DEPTH_MAX) return false;
  try {
    katex.render(text, place, {
      displayMode: display,
      output: STYLED.test(text) ? "html" : "htmlAndMathml",
      throwOnError: true,
      strict: "ignore",
      trust: false,
      maxSize: SIZE_MAX,
      maxExpand: EXPANSIONS_MAX,
    });
    return true;
  } catch {
    place.replaceChildren();
    return false;
  }
}
