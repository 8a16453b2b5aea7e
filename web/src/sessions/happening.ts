// How many sessions something happens in, by the same lines that the list shows: the two never disagree.

import { shelfOf, type Counts, type Line } from "./types";

export type Happening = Pick<Counts, "live" | "needs_you">;

export function happeningIn(lines: readonly Line[]): Happening {
  const active = lines.filter((line) => shelfOf(line) === "active");
  return {
    live: active.filter(({ run }) => run != null).length,
    needs_you: active.filter(({ needs }) => needs != null).length,
  };
}

/** Returns what the server counted beyond the listed lines; nothing is beyond them once all pages are here. */
export function beyond(counted: Happening, listed: Happening, more: boolean): Happening {
  const rest = (of: keyof Happening) => (more ? Math.max(0, counted[of] - listed[of]) : 0);
  return { live: rest("live"), needs_you: rest("needs_you") };
}

export function together(one: Happening, other: Happening): Happening {
  return { live: one.live + other.live, needs_you: one.needs_you + other.needs_you };
}
