// Which sessions changed since this device last showed them. Those of before it ever showed one are not new.

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { readValue } from "../storage/local";
import { onOwner, ownPlace, tryWriteOwn } from "../storage/own";
import { apart } from "./apart";
import type { Line } from "./types";

const place = () => ownPlace("shown");
const PAUSE = 500;
/** What was shown longer ago than these is taken for read. */
const SESSIONS_MAX = 1_000;

export interface Shown {
  /** From when on changes count, in the server's microseconds. */
  since: number;
  /** The activity of each session as it was last shown. */
  sessions: Readonly<Record<string, number>>;
}

export function isUnread({ since, sessions }: Shown, line: Line): boolean {
  return line.active_at > Math.max(since, sessions[line.session] ?? 0);
}

/** What was shown here or there; the oldest are let go together, so that none of them becomes new again. */
export function together(one: Shown, other: Shown): Shown {
  const sessions = { ...one.sessions };
  for (const [session, at] of Object.entries(other.sessions))
    sessions[session] = Math.max(at, sessions[session] ?? 0);
  const since = Math.max(one.since, other.since);
  const newest = Object.entries(sessions).sort(([, one], [, other]) => other - one);
  const left = newest.slice(SESSIONS_MAX)[0];
  if (left === undefined) return { since, sessions };
  return { since: Math.max(since, left[1]), sessions: Object.fromEntries(newest.slice(0, SESSIONS_MAX)) };
}

function isShown(value: unknown): value is Shown {
  const { since, sessions } = (value ?? {}) as Partial<Shown>;
  return typeof since === "number" && typeof sessions === "object" && sessions !== null;
}

function kept(): Shown | undefined {
  return readValue(place(), isShown);
}

function begun(): Shown {
  return kept() ?? { since: Date.now() * 1_000, sessions: {} };
}

const shown = createStore<Shown>(begun);
onOwner(() => shown.setState(begun(), true));

const keep = apart(PAUSE, () => {
  const known = kept();
  if (known !== undefined) shown.setState(together(shown.getState(), known), true);
  tryWriteOwn(place(), JSON.stringify(shown.getState()));
});

/** A session is on the screen as it is now. */
export function markShown(line: Line): void {
  if (document.visibilityState === "hidden") return;
  const { sessions } = shown.getState();
  if ((sessions[line.session] ?? 0) >= line.active_at) return;
  shown.setState({ sessions: { ...sessions, [line.session]: line.active_at } });
  keep();
}

/** Sessions whose next change is this device's own doing. */
const own = new Set<string>();

/** What this device itself changes in a session that it showed is not new to it. Answers how to take that back. */
export function expectOwn(line: Line): () => void {
  if (!isUnread(shown.getState(), line)) own.add(line.session);
  return () => own.delete(line.session);
}

export function hearOwn(line: Line): void {
  if (own.delete(line.session)) markShown(line);
}

export function useUnread(line: Line): boolean {
  return useStore(shown, (shown) => isUnread(shown, line));
}

/** Other tabs of this device show sessions too. */
export function hearOtherTabs(): () => void {
  const heard = ({ key }: StorageEvent) => {
    const known = key === place() ? kept() : undefined;
    if (known !== undefined) shown.setState(together(shown.getState(), known), true);
  };
  window.addEventListener("storage", heard);
  keep();
  return () => window.removeEventListener("storage", heard);
}
