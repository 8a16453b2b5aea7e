// Two devices may write the same draft while they are out of touch. Nothing that was written is dropped.

export interface Written {
  /** What stands in the field. */
  text: string;
  /** What the server is known to have had: a field that says the same was not touched since. */
  base: string;
}

/** Returns whether a change is older than the known revision. The first frame of a connection is always current. */
export function isLate(
  told: { revision: number; device: string | null },
  known: number | undefined,
): boolean {
  return told.device !== null && known !== undefined && told.revision <= known;
}

/** What becomes of a field when the server tells what it has. */
export function meet({ text, base }: Written, told: string): Written {
  const untouched = text === base;
  if (untouched || text === told) return { text: told, base: told };
  // Sent or emptied elsewhere, or nothing new: what was written here goes on.
  if (told === "" || told === base) return { text, base: told };
  return { text: `${told}\n\n${text}`, base: told };
}
