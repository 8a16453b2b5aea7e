// Chooses between a fully mounted and a virtualized session. Fully mounted, the browser's find, selection, copy
// and print and screen readers cover every turn. Virtualized, a session of any length stays fast.

import { useState } from "react";

/** Sessions with up to this many turns are fully mounted. */
export const WHOLE_MAX = 200;
/** A session that grows while it is shown is virtualized later, because the switch remounts its turns. */
const GROWN_MAX = 2 * WHOLE_MAX;

/** Returns whether a session is fully mounted. `before` is the previous result if the session was already shown. */
export function isWhole(count: number, before: boolean | undefined): boolean {
  return before === undefined ? count <= WHOLE_MAX : before && count <= GROWN_MAX;
}

/** Returns whether to mount all turns, and decides once their number is known. */
export function useWhole(count: number | undefined): boolean {
  const [before, setBefore] = useState<boolean>();
  if (count === undefined) return true;
  const whole = isWhole(count, before);
  if (whole !== before) setBefore(whole);
  return whole;
}
