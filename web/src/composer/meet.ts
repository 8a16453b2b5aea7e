// Merges drafts that two devices or two tabs edited while out of sync. Every word is preserved.

import type { Written } from "../storage/drafts";

/** Returns whether a change is older than the known revision. The first frame of a connection is always current. */
export function isLate(
  told: { revision: number; device: string | null },
  known: number | undefined,
): boolean {
  return told.device !== null && known !== undefined && told.revision <= known;
}

/** Merges the server's text into a draft. */
export function meet({ text, base }: Written, told: string): Written {
  const untouched = text === base;
  if (untouched || text === told) return { text: told, base: told };
  // Sent or emptied elsewhere, or nothing new: what was written here goes on.
  if (told === base || contains(text, told)) return { text, base: told };
  return { text: `${told}\n\n${text}`, base: told };
}

/** Merges the draft of a closed tab into this tab's own. `own` is undefined if nothing is known yet. */
export function join(own: Written | undefined, other: Written): Written {
  if (own === undefined) return other;
  if (other.text === other.base) return own;
  if (own.text === own.base) return meet(other, own.base);
  if (contains(own.text, other.text)) return own;
  if (contains(other.text, own.text)) return other;
  return { text: `${own.text}\n\n${other.text}`, base: own.base };
}

/** Returns whether `text` starts with `other` or contains its paragraphs, so that one of them is enough. */
function contains(text: string, other: string): boolean {
  if (other.trim() === "") return true;
  if (text.length < other.length) return false;
  const rest = text.slice(other.length);
  return (text.startsWith(other) && /^(\s|$)/.test(rest)) || `\n\n${text}\n\n`.includes(`\n\n${other}\n\n`);
}
