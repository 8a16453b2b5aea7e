// Which form a conversation has: whole in the page, or virtualized. Whole, the browser's find, selection, copy, print and
// screen readers have every turn; virtualized, a session of any length stays fast.

import { useState } from "react";

/** A session with up to this many turns is shown whole. */
export const WHOLE_MAX = 200;
/** A session that grows while it is shown is virtualized later than one that is opened: the change remounts its turns. */
const GROWN_MAX = 2 * WHOLE_MAX;

/** Whether a session with so many turns is whole; `before` is what it was so far, if it was shown. */
export function isWhole(count: number, before: boolean | undefined): boolean {
  return before === undefined ? count <= WHOLE_MAX : before && count <= GROWN_MAX;
}

/** Decides once the number of turns is known. */
export function useWhole(count: number | undefined): boolean {
  const [before, setBefore] = useState<boolean>();
  if (count === undefined) return true;
  const whole = isWhole(count, before);
  if (whole !== before) setBefore(whole);
  return whole;
}
