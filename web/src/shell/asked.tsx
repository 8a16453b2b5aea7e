// Loads data for a page, with a loading state and an error.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useState, type ReactNode } from "react";

import { ask } from "../api/client";
import { why } from "./attempt";

export interface Asked<T> {
  value: T | undefined;
  problem: string | undefined;
  /** Loads again. The old value stays until the response arrives. */
  again: () => Promise<void>;
}

/** Loads `path`, and again whenever `after` changes. */
export function useAsked<T>(path: string, after?: number): Asked<T> {
  const [value, setValue] = useState<T>();
  const [problem, setProblem] = useState<string>();
  const again = useCallback(async () => {
    try {
      setValue(await ask<T>("GET", path));
      setProblem(undefined);
    } catch (error) {
      setProblem(why(error, i18n.t("Couldn't load this: the server is unreachable.")));
    }
  }, [path]);
  useEffect(() => void again(), [again, after]);
  return { value, problem, again };
}

/** Shows the value, or why it couldn't be loaded. */
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
        : problem === undefined && <p className="dim">{i18n.t("Loading…")}</p>}
    </>
  );
}
