// Asking something of the server in a form: what is shown meanwhile, and when it does not work.

import { useCallback, useEffect, useState, type ReactNode } from "react";

import { why } from "./attempt";

export interface Doing {
  busy: boolean;
  problem: string | undefined;
  /** Does it, and says whether it was done; `failed` is shown if the server is unreachable. */
  run: (failed: string, act: () => Promise<unknown>) => Promise<boolean>;
}

export function useDoing(): Doing {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = useCallback(async (failed: string, act: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
      return true;
    } catch (error) {
      setProblem(why(error, failed));
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

/** Turns once something takes longer than a moment. */
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
