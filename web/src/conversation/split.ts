// Which turns of a long conversation stand in the virtual range, and which below it.

import { useLayoutEffect, useState, type RefObject } from "react";

import type { TurnView } from "../log/types";

export interface Split {
  /** The turns of the virtual range. */
  settled: readonly TurnView[];
  /** The turns below it, each in the page. */
  newest: readonly TurnView[];
}

const NONE: readonly TurnView[] = [];

export function sameList<T>(one: readonly T[], other: readonly T[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

/** Splits the turns at the one named `first`; without it, the newest stands alone below. */
export function splitAt(
  first: number | undefined,
  earlier: readonly TurnView[],
  inState: readonly TurnView[],
): Split {
  const all = [...earlier, ...inState];
  // A turn that was taken back is nowhere, and the turns of the state hold the end.
  const found = first === undefined ? -1 : all.findLastIndex(({ turn }) => turn === first);
  const at = found >= 0 ? found : earlier.length + Math.max(0, inState.length - 1);
  return { settled: all.slice(0, at), newest: all.slice(at) };
}

/**
 * Splits the turns of a session. A turn keeps its nodes while it can be seen: it goes into the virtual range once it is well
 * above the screen, when the next one comes. A session that is shown whole has no virtual range.
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

/** The first of the newest turns that is not well above the screen. */
function firstInSight(scroller: HTMLElement | null, tail: HTMLElement | null): number | undefined {
  if (scroller === null || tail === null) return undefined;
  const { top, height } = scroller.getBoundingClientRect();
  const turns = [...tail.querySelectorAll<HTMLElement>("article[data-turn]")];
  const kept = turns.find((turn) => turn.getBoundingClientRect().bottom >= top - height);
  return kept === undefined ? undefined : Number(kept.dataset["turn"]);
}
