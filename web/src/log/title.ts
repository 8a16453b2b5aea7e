// A session's title: a person's, a model's, or the first line of the first message until there is one.

import type { Message, Title } from "./types";
import { variant } from "./variants";
import { trim, trimEnd } from "./whitespace";

const CHARACTERS_MAX = 60;
/** A title that is cut ends at its last space behind so many characters, if there is one. */
const CHARACTERS_MIN = 40;

/** Returns the title's text, or null if there is none or its kind is unknown to this version. */
export function titleText(title: Title | null | undefined): string | null {
  if (title == null) return null;
  return variant(title, "person") ?? variant(title, "generated") ?? variant(title, "provisional") ?? null;
}

/** Control characters, and those that change the direction of the text around them. */
const LEFT_OUT = /[\p{Cc}\u{200e}\u{200f}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu;
const SHOWS_SOMETHING = /[^\p{White_Space}\u{200b}-\u{200d}\u{2060}\u{feff}]/u;

/** Returns a title made of the first line that shows anything, or none for a message without one. */
export function provisional({ text }: Message): Title | null {
  const line = text
    .split("\n")
    .map((line) => trim(line.replace(LEFT_OUT, "")))
    .find((line) => SHOWS_SOMETHING.test(line));
  if (line === undefined) return null;
  const letters = [...line];
  if (letters.length <= CHARACTERS_MAX) return { provisional: line };
  const space = letters.slice(0, CHARACTERS_MAX).lastIndexOf(" ");
  const end = space > CHARACTERS_MIN ? space : CHARACTERS_MAX;
  return { provisional: `${trimEnd(letters.slice(0, end).join(""))}…` };
}
