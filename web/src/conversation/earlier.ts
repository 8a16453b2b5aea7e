// Turns that stand before those of the state. They come by page, or stay when the state lets them go; they never change, and
// are kept for as long as the session is shown.

import { useCallback, useLayoutEffect, useRef, useState } from "react";

import { ask } from "../api/client";
import type { TurnView, View } from "../log/types";

const PAGE = 50;
/** The server's maximum page size. */
const PAGE_MAX = 100;

export interface Earlier {
  turns: readonly TurnView[];
  /** The number of turns before them. */
  missing: number;
  /** Loads the page before them. */
  load: () => void;
  /** Loads all of them and shows them together at the end. Resolves to whether all of them were loaded. */
  loadAll: () => Promise<boolean>;
  /** The number of turns loaded so far while all are loading. */
  coming: number | undefined;
}

/** The turns directly before those of a view. */
export interface Kept {
  turns: readonly TurnView[];
  view: View | undefined;
}

export const NOTHING_KEPT: Kept = { turns: [], view: undefined };

/** Keeps what the state let go between two views, and forgets what it took back. */
export function goOn({ turns, view: before }: Kept, view: View): Kept {
  const gone = view.turns_before - (before?.turns_before ?? view.turns_before);
  if (gone === 0) return { turns, view };
  if (gone < 0) return { turns: turns.slice(0, Math.max(0, turns.length + gone)), view };
  const left = before?.turns.slice(0, gone) ?? [];
  // So much came at once that not all of it was ever shown: it comes by page.
  if (left.length < gone) return { turns: [], view };
  return { turns: [...turns, ...left], view };
}

function oldestOf({ turns, view }: Kept): number | undefined {
  return (turns[0] ?? view?.turns[0])?.turn;
}

/** Updates the kept turns during render, once per view. */
function useKept(view: View | undefined) {
  const [known, keep] = useState(NOTHING_KEPT);
  const kept = view === undefined || view === known.view ? known : goOn(known, view);
  if (kept !== known) keep(kept);
  return [kept, keep] as const;
}

export function useEarlier(session: string, view: View | undefined): Earlier {
  const [kept, keep] = useKept(view);
  const shown = useRef(kept);
  useLayoutEffect(() => {
    shown.current = kept;
  }, [kept]);
  const busy = useRef<Promise<unknown>>(undefined);
  const [coming, setComing] = useState<number>();
  /** Fetches `wanted` turns page by page and shows those that came, even if a request failed. */
  const fetchTurns = useCallback(
    async (wanted: number, page: number, came: (count: number) => void): Promise<boolean> => {
      const oldest = oldestOf(shown.current);
      const { turns, whole } = await pagesBefore(session, oldest, wanted, page, came);
      busy.current = undefined;
      const isStill = oldestOf(shown.current) === oldest;
      keep((kept) =>
        oldestOf(kept) === oldest ? { turns: [...turns, ...kept.turns], view: kept.view } : kept,
      );
      return whole && isStill;
    },
    [session, keep],
  );
  const load = useCallback(() => {
    busy.current ??= fetchTurns(1, PAGE, () => undefined);
  }, [fetchTurns]);
  const loadAll = useCallback(() => {
    setComing(0);
    const all = async () => {
      const whole = await fetchTurns(Number.POSITIVE_INFINITY, PAGE_MAX, setComing);
      setComing(undefined);
      return whole;
    };
    const asked = (busy.current ?? Promise.resolve()).then(all);
    busy.current = asked;
    return asked;
  }, [fetchTurns]);
  const { turns } = kept;
  return { turns, missing: Math.max(0, (view?.turns_before ?? 0) - turns.length), load, loadAll, coming };
}

/**
 * Fetches pages of turns before `oldest` until `wanted` turns have come. Returns them, and whether every
 * request succeeded.
 */
async function pagesBefore(
  session: string,
  oldest: number | undefined,
  wanted: number,
  page: number,
  came: (count: number) => void,
): Promise<{ turns: TurnView[]; whole: boolean }> {
  const pages: TurnView[][] = [];
  try {
    for (let [count, before] = [0, oldest]; count < wanted; came(count)) {
      const from = before === undefined ? "" : `before=${before}&`;
      const path = `/sessions/${session}/turns?${from}count=${page}`;
      const { turns } = await ask<{ turns: TurnView[] }>("GET", path);
      const first = turns[0];
      if (first === undefined) break;
      pages.unshift(turns);
      count += turns.length;
      before = first.turn;
    }
    return { turns: pages.flat(), whole: true };
  } catch {
    // The next scroll up retries.
    return { turns: pages.flat(), whole: false };
  }
}
