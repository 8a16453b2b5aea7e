// Reading something from the server for a page, and asking something of it in a form: what is shown meanwhile, and when it
// does not work.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useState, type ReactNode } from "react";

import { ask } from "../api/client";
import { why } from "../shell/attempt";

export interface Asked<T> {
  value: T | undefined;
  problem: string | undefined;
  /** Reads it again; what is shown stays until the answer is here. */
  again: () => Promise<void>;
}

export function useAsked<T>(path: string): Asked<T> {
  const [value, setValue] = useState<T>();
  const [problem, setProblem] = useState<string>();
  const again = useCallback(async () => {
    try {
      setValue(await ask<T>("GET", path));
      setProblem(undefined);
    } catch (error) {
      setProblem(why(error, i18n.t("read")));
    }
  }, [path]);
  useEffect(() => void again(), [again]);
  return { value, problem, again };
}

/** What was read, or why it was not. */
export function Loaded<T>({ asked, children }: { asked: Asked<T>; children: (value: T) => ReactNode }) {
  const { value, problem, again } = asked;
  return (
    <>
      {problem !== undefined && (
        <p className="err" role="alert">
          {problem}{" "}
          <button type="button" className="btn sm" onClick={() => void again()}>
            {i18n.t("Try again")}
          </button>
        </p>
      )}
      {value !== undefined
        ? children(value)
        : problem === undefined && <p className="dim">{i18n.t("Reading…")}</p>}
    </>
  );
}

export interface Doing {
  busy: boolean;
  problem: string | undefined;
  /** Does it, and says whether it was done; `done` is the word for that. */
  run: (done: string, act: () => Promise<unknown>) => Promise<boolean>;
}

export function useDoing(): Doing {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const run = useCallback(async (done: string, act: () => Promise<unknown>) => {
    setBusy(true);
    setProblem(undefined);
    try {
      await act();
      return true;
    } catch (error) {
      setProblem(why(error, done));
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
