// Sessions selected in the list, and the bulk action running on them.

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { announce } from "../shell/announce";
import { change, erase } from "./acts";
import { oneByOne, outcomeWords, type Deed, type Outcome } from "./bulk";
import { lineOf } from "./lists";

export interface Picked {
  sessions: ReadonlySet<string>;
  /** The start of a range selection. */
  from: string | undefined;
  /** The running action and its progress. */
  doing: { deed: Deed; outcome: Outcome } | undefined;
  /** The outcome of the last action. */
  told: string | undefined;
}

const NONE: ReadonlySet<string> = new Set();

export const picked = createStore<Picked>(() => ({
  sessions: NONE,
  from: undefined,
  doing: undefined,
  told: undefined,
}));

export function usePicked<T>(pick: (picked: Picked) => T): T {
  return useStore(picked, pick);
}

let enough = false;

export function toggle(session: string): void {
  const { sessions } = picked.getState();
  const next = new Set(sessions);
  if (!next.delete(session)) next.add(session);
  picked.setState({ sessions: next, from: session, told: undefined });
}

/** Selects all sessions of a range. */
export function pickRange(between: readonly string[]): void {
  const { sessions } = picked.getState();
  picked.setState({ sessions: new Set([...sessions, ...between]), told: undefined });
}

export function pickNone(): void {
  picked.setState({ sessions: NONE, from: undefined, told: undefined });
}

/** Deselects sessions that are no longer in the list. */
export function keepOnly(isThere: (session: string) => boolean): void {
  const { sessions } = picked.getState();
  const left = [...sessions].filter(isThere);
  if (left.length < sessions.size) picked.setState({ sessions: new Set(left) });
}

/** Stops the running action after the current session. */
export function leaveTheRest(): void {
  enough = true;
}

/** Runs an action on sessions, one after another. Refused sessions stay selected. */
export async function together(
  deed: Deed,
  sessions: readonly string[],
  act: (session: string) => Promise<unknown>,
): Promise<void> {
  if (picked.getState().doing !== undefined || sessions.length === 0) return;
  enough = false;
  const begun: Outcome = { done: 0, total: sessions.length, refused: [] };
  picked.setState({ doing: { deed, outcome: begun }, told: undefined });
  const outcome = await oneByOne(sessions, act, {
    tell(outcome, session) {
      const before = picked.getState().doing?.outcome.done ?? 0;
      const left = new Set(picked.getState().sessions);
      if (outcome.done > before) left.delete(session);
      picked.setState({ doing: { deed, outcome }, sessions: left });
    },
    enough: () => enough,
  });
  const told = outcomeWords(deed, outcome);
  picked.setState({ doing: undefined, told });
  announce(told);
}

export function archiveAll(sessions: readonly string[]): Promise<void> {
  return together("archive", sessions, (session) => change(session, { archived: true }));
}

export function trashAll(sessions: readonly string[]): Promise<void> {
  return together("trash", sessions, (session) => change(session, { trashed: true }));
}

/** Restores sessions from the trash, or unarchives them. */
export function putBackAll(sessions: readonly string[]): Promise<void> {
  return together("put_back", sessions, (session) =>
    change(session, lineOf(session)?.trashed === true ? { trashed: false } : { archived: false }),
  );
}

export function eraseAll(sessions: readonly string[]): Promise<void> {
  return together("erase", sessions, erase);
}
