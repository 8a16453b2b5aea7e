// Reading something from the server for a page: what is shown meanwhile, and when it does not work.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useState, type ReactNode } from "react";

import { ask } from "../api/client";
import { why } from "./attempt";

export interface Asked<T> {
  value: T | undefined;
  problem: string | undefined;
  /** Reads it again; what is shown stays until the answer is here. */
  again: () => Promise<void>;
}

/** Reads what is at `path`, and reads it again when `after` is something else. */
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
