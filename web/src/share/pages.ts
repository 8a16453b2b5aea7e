// The turns of a session that is read by a link: the newest come again and again, earlier ones when they are asked for.

import type { TurnView } from "../log/types";

/** As many turns as the server gives at once. */
export const PAGE = 50;

export interface Read {
  turns: readonly TurnView[];
  /** Whether there may be earlier ones. */
  more: boolean;
}

/** The newest turns in place of what was known of them. When so many came that the two do not meet, only they are known. */
export function renewed(known: Read | undefined, newest: readonly TurnView[]): Read {
  const first = newest[0];
  const whole = newest.length < PAGE;
  if (known === undefined || first === undefined || whole) return { turns: newest, more: !whole };
  const at = known.turns.findIndex(({ turn }) => turn === first.turn);
  if (at < 0) return { turns: newest, more: true };
  return { turns: [...known.turns.slice(0, at), ...newest], more: known.more };
}

export function withEarlier(known: Read, earlier: readonly TurnView[]): Read {
  return { turns: [...earlier, ...known.turns], more: earlier.length >= PAGE };
}

/** Whether the answer to the newest turn is still being written. */
export function isLive(turn: TurnView): boolean {
  return turn.marker == null && turn.answer?.complete !== true;
}
