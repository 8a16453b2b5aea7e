// Brings a turn into sight, wherever it is: in the virtual range, among the newest, or still on the server.

import { useLayoutEffect, type RefObject } from "react";
import type { VirtualizerHandle } from "virtua";

import type { TurnView } from "../log/types";
import { ui, useUi } from "../shell/ui";
import type { Earlier } from "./earlier";

interface Where {
  session: string;
  settled: readonly TurnView[];
  newest: readonly TurnView[];
  list: RefObject<VirtualizerHandle | null>;
  tail: RefObject<HTMLDivElement | null>;
  earlier: Earlier;
  unpin: () => void;
}

export function useReveal({ session, settled, newest, list, tail, earlier, unpin }: Where): void {
  const turn = useUi(({ reveal }) => (reveal?.session === session ? reveal.turn : undefined));
  const { missing, coming, loadAll } = earlier;
  useLayoutEffect(() => {
    if (turn === undefined || newest.length === 0) return;
    const at = settled.findIndex((known) => known.turn === turn);
    const near = newest.some((known) => known.turn === turn);
    if (at < 0 && !near && missing > 0) {
      // Asked for once; what comes brings us here again.
      if (coming === undefined) void loadAll();
      return;
    }
    ui.setState({ reveal: undefined });
    if (at < 0 && !near) return;
    unpin();
    if (near) tail.current?.querySelector(`[data-turn="${turn}"]`)?.scrollIntoView({ block: "start" });
    else list.current?.scrollToIndex(at, { align: "start" });
  }, [turn, settled, newest, missing, coming, loadAll, list, tail, unpin]);
}
