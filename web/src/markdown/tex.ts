// Draws formulas. Fetched with its fonts when the first formula is seen.

import katex from "katex";
import "katex/dist/katex.min.css";

/** Longer ones are shown as they were written. */
const TEX_LETTERS_MAX = 10_000;
/** In em: as wide and high as a rule or a space may be. */
const SIZE_MAX = 40;

/**
 * For these the MathML would have a `style` attribute, which the page's policy forbids. They are drawn without it; the
 * source stands beside them.
 */
const STYLED = /\\(pmb|fcolorbox)\b/;

/** Draws into an element of its own; tells whether it could. */
export function draw(place: HTMLElement, text: string, display: boolean): boolean {
  if (text.length > TEX_LETTERS_MAX) return false;
  try {
    katex.render(text, place, {
      displayMode: display,
      output: STYLED.test(text) ? "html" : "htmlAndMathml",
      throwOnError: true,
      strict: "ignore",
      trust: false,
      maxSize: SIZE_MAX,
    });
    return true;
  } catch {
    place.replaceChildren();
    return false;
  }
}
