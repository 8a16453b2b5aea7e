// Splits the turns of a long session into the virtual range and the mounted turns below it.

import { useLayoutEffect, useState, type RefObject } from "react";

import type { TurnView } from "../log/types";

export interface Split {
  /** The turns in the virtual range. */
  settled: readonly TurnView[];
  /** The turns below it, all mounted. */
  newest: readonly TurnView[];
}

const NONE: readonly TurnView[] = [];

export function sameList<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Splits the turns at the turn `first`. Without it, only the newest turn is below the virtual range. */
export function splitAt(
  first: number | undefined,
  earlier: readonly TurnView[],
  inState: readonly TurnView[],
): Split {
  const all = [...earlier, ...inState];
  // An undone turn is not found. The newest turn of the state is then the boundary.
  const found = first === undefined ? -1 : all.findLastIndex(({ turn }) => turn === first);
  const at = found >= 0 ? found : earlier.length + Math.max(0, inState.length - 1);
  return { settled: all.slice(0, at), newest: all.slice(at) };
}

/**
 * Splits the turns of a session. When a new turn comes, turns well above the screen move into the virtual
 * range, so that a visible turn keeps its DOM nodes. A fully mounted session has no virtual range.
 */
export function useSplit(
  earlier: readonly TurnView[],
  inState: readonly TurnView[],
  whole: boolean,
  scroller: RefObject<HTMLDivElement | null>,
  tail: RefObject<HTMLDivElement | null>,
): Split {
  const [first, setFirst] = useState<number>();
  const newestTurn = inState.at(-1)?.turn;
  useLayoutEffect(() => {
    if (!whole) setFirst(firstInSight(scroller.current, tail.current) ?? newestTurn);
  }, [newestTurn, whole, scroller, tail]);
  if (whole) return { settled: NONE, newest: [...earlier, ...inState] };
  return splitAt(first, earlier, inState);
}

/** Returns the first of the newest turns that is not well above the screen. */
function firstInSight(scroller: HTMLElement | null, tail: HTMLElement | null): number | undefined {
  if (scroller === null || tail === null) return undefined;
  const { top, height } = scroller.getBoundingClientRect();
  const turns = [...tail.querySelectorAll<HTMLElement>("article[data-turn]")];
  const kept = turns.find((turn) => turn.getBoundingClientRect().bottom >= top - height);
  return kept === undefined ? undefined : Number(kept.dataset["turn"]);
}
