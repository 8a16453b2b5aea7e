// The turns of a session that is read by a link: the newest come again and again, earlier ones when they are asked for.

import type { TurnView } from "../log/types";

export interface Read {
  turns: readonly TurnView[];
  /** Whether there are turns before these. */
  earlier: boolean;
}

/** The newest turns in place of what was known of them. When so many came that the two do not meet, only they are known. */
export function renewed(known: Read | undefined, newest: Read): Read {
  const first = newest.turns[0];
  if (known === undefined || first === undefined || !newest.earlier) return newest;
  const at = known.turns.findIndex(({ turn }) => turn === first.turn);
  if (at < 0) return newest;
  return { turns: [...known.turns.slice(0, at), ...newest.turns], earlier: known.earlier };
}

export function withEarlier(known: Read, before: Read): Read {
  return { turns: [...before.turns, ...known.turns], earlier: before.earlier };
}

/** Whether the answer to the newest turn was still being written when it was read. */
export function isUnfinished(turn: TurnView): boolean {
  return turn.marker == null && turn.answer?.complete !== true;
}
