// A session's title: a person's, a model's, or the first line of the first message until there is one.

import type { Message, Title } from "./types";

const CHARACTERS_MAX = 60;
/** A title that is cut ends at its last space behind so many characters, if there is one. */
const CHARACTERS_MIN = 40;

export function titleText(title: Title): string {
  if ("person" in title) return title.person;
  return "generated" in title ? title.generated : title.provisional;
}

/** Returns a title made of a message's first line, or none for a message without text. */
export function provisional({ text }: Message): Title | null {
  const line = text
    .split("\n")
    .map(trimmed)
    .find((line) => line !== "");
  if (line === undefined) return null;
  const letters = [...line];
  if (letters.length <= CHARACTERS_MAX) return { provisional: line };
  const space = letters.slice(0, CHARACTERS_MAX).lastIndexOf(" ");
  const end = space > CHARACTERS_MIN ? space : CHARACTERS_MAX;
  return { provisional: `${trimmed(letters.slice(0, end).join(""))}…` };
}

/** Trims white space as the server does, which is not quite what `trim` takes for it. */
function trimmed(line: string): string {
  return line.replace(/^\p{White_Space}+|\p{White_Space}+$/gu, "");
}
