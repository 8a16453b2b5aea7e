// The turns of a shared session: the newest are refreshed, earlier ones are loaded on request.

import type { TurnView } from "../log/types";

export interface Read {
  turns: readonly TurnView[];
  /** Whether there are turns before these. */
  earlier: boolean;
}

/** Replaces the newest turns. If they don't overlap with the known ones, the known ones are dropped. */
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

/** Returns whether the answer to the newest turn was still being written when it was loaded. */
export function isUnfinished(turn: TurnView): boolean {
  return turn.marker == null && turn.answer?.complete !== true;
}
