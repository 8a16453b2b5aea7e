import { useEffect, useState } from "react";
import { useStore } from "zustand";

import { store, type Known } from "../live/store";

export function useKnown<T>(pick: (known: Known) => T): T {
  return useStore(store, pick);
}

/** Draws again every second while `on`, for what tells how long something takes. */
export function useSeconds(on: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!on) return;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [on]);
  return now;
}
