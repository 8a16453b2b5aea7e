// What this tab knows: one log for each session that it shows, folded, and the list. Entries are gathered and folded once
// a frame; nothing else changes a session.

import { createStore } from "zustand/vanilla";

import { ask, Refused } from "../api/client";
import { Gap, fold } from "../log/fold";
import type { Entry, Line, State } from "../log/types";
import { Connection, type Told } from "./connection";
import { Outbox, type Waiting } from "./outbox";

export interface Session {
  state: State;
  /** Whether everything up to the end of the log has come. */
  caughtUp: boolean;
}

/** How the connection stands. */
export type Link =
  | { kind: "opening" }
  | { kind: "open"; missed?: { since: number; until: number } }
  | { kind: "away"; since: number };

export interface Known {
  user: { name: string } | null | undefined;
  link: Link;
  sessions: Record<string, Session>;
  list: Line[] | undefined;
  /** Sessions that the server does not know, or does not show. */
  unknown: Record<string, string>;
  outbox: Waiting[];
  /** When something was last heard to be on disk. */
  heardAt: number;
}

export const store = createStore<Known>(() => ({
  user: undefined,
  link: { kind: "opening" },
  sessions: {},
  list: undefined,
  unknown: {},
  outbox: [],
  heardAt: 0,
}));

const followed = new Map<string, number>();
const gathered = new Map<string, { entries: Entry[]; caughtUp: boolean }>();
let flushing = false;

const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/live`;
const connection = new Connection(address, { opened, told, closed });
export const outbox = new Outbox(store);

/** Finds out who is here, and begins. */
export async function begin(): Promise<void> {
  outbox.load();
  try {
    const user = await ask<{ name: string }>("GET", "/me");
    store.setState({ user });
    connection.start();
    outbox.deliver();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) store.setState({ user: null });
    else setTimeout(() => void begin(), 1_000);
  }
}

export function tryNow(): void {
  connection.now();
}

/** Follows a session for as long as something shows it. */
export function follow(session: string): () => void {
  const count = followed.get(session) ?? 0;
  followed.set(session, count + 1);
  if (count === 0) ask_for(session);
  return () => {
    const left = (followed.get(session) ?? 1) - 1;
    if (left > 0) followed.set(session, left);
    else {
      followed.delete(session);
      connection.say({ leave: { session } });
    }
  };
}

/** From where this tab stands, or from the state that the server has. */
function ask_for(session: string): void {
  const head = store.getState().sessions[session]?.state.link.seq;
  connection.say({ follow: head === undefined ? { session } : { session, after: head } });
}

function opened(): void {
  const { link } = store.getState();
  const missed = link.kind === "away" ? { missed: { since: link.since, until: Date.now() } } : {};
  store.setState({ link: { kind: "open", ...missed } });
  connection.say({ follow_list: {} });
  for (const session of followed.keys()) ask_for(session);
  outbox.deliver();
}

function closed(): void {
  const { link } = store.getState();
  if (link.kind !== "away") store.setState({ link: { kind: "away", since: Date.now() } });
  // A login that ended also ends the socket; only the server can tell the one from the other.
  ask("GET", "/me").catch((error: unknown) => {
    if (error instanceof Refused && error.status === 401) store.setState({ user: null });
  });
}

function told(told: Told): void {
  if (told.snapshot !== undefined) {
    const { session, state } = told.snapshot;
    gathered.delete(session);
    put(session, { state, caughtUp: true });
  } else if (told.entries !== undefined) {
    const { session, entries, caught_up } = told.entries;
    const waiting = gathered.get(session) ?? { entries: [], caughtUp: false };
    waiting.entries.push(...entries);
    waiting.caughtUp ||= caught_up;
    gathered.set(session, waiting);
    flushSoon();
  } else if (told.cut_off !== undefined) {
    if (followed.has(told.cut_off.session)) ask_for(told.cut_off.session);
  } else if (told.refused !== undefined) {
    refuse(told.refused.session, told.refused.problem.code, told.refused.problem.detail);
  } else if (told.list !== undefined) {
    store.setState({ list: told.list.sessions });
  } else if (told.line !== undefined) {
    putLine(told.line);
  } else if (told.gone !== undefined) {
    const { session } = told.gone;
    store.setState(({ list }) => ({ list: list?.filter((line) => line.session !== session) }));
  } else if (told.list_cut_off !== undefined) {
    connection.say({ follow_list: {} });
  }
}

function refuse(session: string | null, code: string, detail: string): void {
  if (session === null) return;
  if (code === "beyond_end") {
    // The server came back with less than was shown here; what it has is the truth.
    store.setState(({ sessions: { [session]: _, ...sessions } }) => ({ sessions }));
    ask_for(session);
    return;
  }
  store.setState(({ unknown }) => ({ unknown: { ...unknown, [session]: detail } }));
}

function put(session: string, known: Session): void {
  store.setState(({ sessions }) => ({ sessions: { ...sessions, [session]: known }, heardAt: Date.now() }));
  outbox.reached(session, known.state.link.seq);
}

/** Of two lines the one that was read from further on is true. */
function putLine(line: Line): void {
  store.setState(({ list = [] }) => {
    const known = list.find((other) => other.session === line.session);
    if (known !== undefined && (known.seq ?? 0) > (line.seq ?? 0)) return {};
    const others = list.filter((other) => other.session !== line.session);
    const shown = line.archived || line.trashed ? others : [line, ...others];
    return { list: shown.toSorted((one, other) => other.active_at - one.active_at) };
  });
}

/** Once a frame; once a second while nobody looks. */
function flushSoon(): void {
  if (flushing) return;
  flushing = true;
  if (document.visibilityState === "hidden") setTimeout(flush, 1_000);
  else requestAnimationFrame(flush);
}

function flush(): void {
  flushing = false;
  for (const [session, { entries, caughtUp }] of gathered) {
    const known = store.getState().sessions[session];
    if (known === undefined) continue;
    try {
      const state = fold(known.state, entries);
      outbox.arrived(session, entries);
      put(session, { state, caughtUp: known.caughtUp || caughtUp });
    } catch (error) {
      if (!(error instanceof Gap)) throw error;
      ask_for(session);
    }
  }
  gathered.clear();
}
