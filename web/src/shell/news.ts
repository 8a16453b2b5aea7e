// What is worth telling a person who looks elsewhere, from the lines of the list.

import type { Known } from "../live/store";
import type { Line } from "../log/types";

export interface News {
  session: string;
  title: string | null;
  what: "finished" | "needs";
}

/** What became of a session. The first that is known of it tells nothing: it is how things were. */
export function newsOf(
  before: Line | undefined,
  { session, title = null, run, needs }: Line,
): News | undefined {
  if (before === undefined) return undefined;
  if (needs != null && before.needs == null) return { session, title, what: "needs" };
  // After one answer the next may go on: then nothing is finished.
  const finished = before.run != null && run == null && needs == null;
  return finished ? { session, title, what: "finished" } : undefined;
}

/** Sessions in which something that was sent here is still being answered, or about to be. */
export function answered(
  sent: ReadonlySet<string>,
  { list, outbox }: Pick<Known, "list" | "outbox">,
): string[] {
  return [...sent].filter(
    (session) =>
      outbox.some((waiting) => waiting.session === session && waiting.refused === undefined) ||
      list?.some((line) => line.session === session && line.run != null),
  );
}
