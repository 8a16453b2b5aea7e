// Requests from a form: the busy state and the error to show.

import { useCallback, useEffect, useState, type ReactNode } from "react";

import type { Reasons } from "../api/problems";
import { why } from "./attempt";

export interface Doing {
  busy: boolean;
  problem: string | undefined;
  /**
   * Runs `act` and returns whether it succeeded. `failed` is shown if the server is unreachable; `here` replaces the texts
   * of error codes.
   */
  run: (failed: string, act: () => Promise<unknown>, here?: Reasons) => Promise<boolean>;
}

export function useDoing(): Doing {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = useCallback(async (failed: string, act: () => Promise<unknown>, here?: Reasons) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
      return true;
    } catch (error) {
      setProblem(why(error, failed, here));
      return false;
    } finally {
      setBusy(false);
    }
  }, []);
  return { busy, problem, run };
}

export function Problem({ of: { problem } }: { of: Doing }) {
  if (problem === undefined) return null;
  return (
    <p className="err" role="alert">
      {problem}
    </p>
  );
}

const SLOW = 1_000;

/** Shows a spinner once a request takes longer than a second. */
export function Slow({ on, children }: { on: boolean; children: ReactNode }) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!on) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), SLOW);
    return () => clearTimeout(timer);
  }, [on]);
  if (!on || !slow) return null;
  return (
    <span className="slow">
      <span className="spin" aria-hidden="true" />
      {children}
    </span>
  );
}
