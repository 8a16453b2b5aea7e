// English messages compiled by the page itself. A message is its own id, so that only those with formatted arguments, such as
// plurals, need an entry in the catalogue.

/** A formatted argument, or an apostrophe that quotes. */
const NEEDS_CATALOGUE = /\{\w+\s*,|''|'[{}]/;

export function needsCatalogue(text: string): boolean {
  return NEEDS_CATALOGUE.test(text);
}

/** Splits a message into its text and the names of its placeholders. */
export function compile(text: string): (string | [string])[] {
  const parts = text.split(/\{(\w+)\}/);
  return parts
    .map((part, at): string | [string] => (at % 2 === 1 ? [part] : part))
    .filter((part) => part !== "");
}
