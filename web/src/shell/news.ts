// What is worth telling a person who looks elsewhere, from the lines of the list.

import type { Known } from "../live/store";
import type { Line } from "../log/types";

export interface News {
  session: string;
  title: string | null;
  what: "finished" | "needs";
}

/** What became of sessions between two lists. The first list tells nothing: it is how things were. */
export function newsOf(before: readonly Line[] | undefined, after: readonly Line[] | undefined): News[] {
  if (before === undefined || after === undefined || before === after) return [];
  const known = new Map(before.map((line) => [line.session, line]));
  return after.flatMap(({ session, title = null, run, needs }): News[] => {
    const was = known.get(session);
    if (was === undefined) return [];
    if (needs != null && was.needs == null) return [{ session, title, what: "needs" }];
    // After one answer the next may go on: then nothing is finished.
    return was.run != null && run == null && needs == null ? [{ session, title, what: "finished" }] : [];
  });
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
