// Turns that stand before those of the state. They come by page, never change, and are kept for as long as the session is
// shown.

import { useCallback, useRef, useState } from "react";

import { ask } from "../api/client";
import type { TurnView, View } from "../log/types";

const PAGE = 50;

export interface Earlier {
  turns: TurnView[];
  /** Whether there are more before them. */
  more: boolean;
  loading: boolean;
  load: () => void;
}

export function useEarlier(session: string, view: View | undefined): Earlier {
  const [turns, setTurns] = useState<TurnView[]>([]);
  const [loading, setLoading] = useState(false);
  const busy = useRef(false);
  const oldest = (turns[0] ?? view?.turns[0])?.turn;
  const before = view?.turns_before ?? 0;
  const load = useCallback(() => {
    if (busy.current || oldest === undefined) return;
    busy.current = true;
    setLoading(true);
    ask<{ turns: TurnView[] }>("GET", `/sessions/${session}/turns?before=${oldest}&count=${PAGE}`)
      .then((page) => setTurns((known) => [...page.turns.filter(({ turn }) => turn < oldest), ...known]))
      // Scrolling up once more asks again.
      .catch(() => undefined)
      .finally(() => {
        busy.current = false;
        setLoading(false);
      });
  }, [session, oldest]);
  // What left the state since is among its earlier turns: it is shown from there until the next page brings it.
  const first = view?.turns[0]?.turn ?? Number.POSITIVE_INFINITY;
  const shown = turns.filter(({ turn }) => turn < first);
  return { turns: shown, more: shown.length < before, loading, load };
}
