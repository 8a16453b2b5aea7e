// What this tab knows: one log for each session that it shows, folded, and the list. Entries are gathered and folded once
// a frame; nothing else changes a session.

import { createStore } from "zustand/vanilla";

import { ask, insist, Refused, type Schemas } from "../api/client";
import { Gap, fold } from "../log/fold";
import type { Entry, State } from "../log/types";
import { lineTold, listed, onList, sessionGone } from "../sessions/lists";
import type { Line } from "../sessions/types";
import { language, setLanguage } from "../words/language";
import { isOther } from "./build";
import { Connection, type Draft, type Told } from "./connection";
import { onceAFrame } from "./frame";
import { isFreshPlace, keepFresh, readFresh, sessionId, type Fresh } from "./fresh";
import { forgetMe, keepMe, knownMe, type Me } from "./me";
import { Outbox, type Waiting } from "./outbox";
import { Replica, type Seen } from "./seen";

export interface Session {
  state: State;
  /** The hash of the last entry: with it the server tells whether the log is still the same. */
  hash: number[];
  /** Whether everything up to the end of the log has come. */
  caughtUp: boolean;
}

/** Where this device keeps who signed in last, so that it can be told that a login ended. */
export const SIGNED_IN = "signed_in";

/** How this page calls itself, so that it knows its own words when they come back. */
export const DEVICE = crypto.randomUUID();

/** A model that can be asked. The first one is unless a message names another. */
export type Model = Schemas["ModelBody"];

/** What a person prefers, on every device. */
export type Preferences = Schemas["PreferencesBody"];

/** How the connection stands. */
export type Link =
  | { kind: "opening" }
  | { kind: "open"; missed?: { since: number; until: number } }
  /** `heard` is when the server was last heard; none if this page never heard it. */
  | { kind: "away"; since: number; heard?: number };

export interface Known {
  user: Me | null | undefined;
  preferences: Preferences | undefined;
  /** What this login is called, by which messages of the person's other devices are told apart. */
  device: string | undefined;
  /** Why the server keeps nothing at the moment; none while it does. */
  unwritable: { problem: string } | undefined;
  link: Link;
  sessions: Record<string, Session>;
  /** The active sessions that pages and changes told of, pins first; none until the first page came. */
  list: readonly Line[] | undefined;
  /** Sessions that the server does not know, or does not show. */
  unknown: Record<string, string>;
  outbox: Waiting[];
  /** New sessions that exist on this device only. */
  fresh: Record<string, Fresh>;
  /** What is being written, as the server told last. */
  drafts: Record<string, Draft>;
  models: Model[];
  /** What this device showed of sessions and the server no longer has. */
  lost: Record<string, Seen>;
  /** Whether the server has another page than this one. */
  newer: boolean;
  /** When something was last heard to be on disk, to the second: what tells of it is drawn no more often. */
  heardAt: number;
}

export const store = createStore<Known>(() => ({
  user: undefined,
  preferences: undefined,
  device: undefined,
  unwritable: undefined,
  link: { kind: "opening" },
  sessions: {},
  list: undefined,
  unknown: {},
  outbox: [],
  fresh: {},
  drafts: {},
  models: [],
  lost: {},
  newer: false,
  heardAt: 0,
}));

const followed = new Map<string, number>();
const gathered = new Map<string, { entries: Entry[]; hash: number[] | null; caughtUp: boolean }>();
const flushSoon = onceAFrame(flush);

const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/live`;
const connection = new Connection(address, { opened, told, closed });
export const outbox = new Outbox(store);
export const replica = new Replica(store);
onList((list) => store.setState({ list }));

/** When the server was last heard, whatever it said. */
let lastHeard: number | undefined;

/** When to ask again who is here; none once the server said so. */
let again: ReturnType<typeof setTimeout> | undefined;

/** Finds out who is here, and begins. */
export async function begin(): Promise<void> {
  clearTimeout(again);
  again = undefined;
  try {
    const user = await ask<Me>("GET", "/me");
    const before = localStorage.getItem(SIGNED_IN);
    localStorage.setItem(SIGNED_IN, user.user);
    keepMe(user);
    // Somebody else signs in here: nothing of what was shown is theirs.
    if (Object.keys(store.getState().sessions).length > 0 && before !== user.user) return location.reload();
    store.setState({ user });
    readDevice(user);
    readPersonal();
    connection.start();
    readModels().catch(() => undefined);
    outbox.deliver();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return signedOut();
    showKnown();
    again = setTimeout(() => void begin(), 1_000);
  }
}

/** Reads what this device keeps of a user and the server does not know yet. */
function readDevice({ user }: Me): void {
  outbox.load(user);
  store.setState({ fresh: readFresh(user, outbox.sessions()) });
}

// Another tab started a new session, or sent its first message.
window.addEventListener("storage", ({ key }) => {
  const { user } = store.getState();
  if (isFreshPlace(key) && user != null) store.setState({ fresh: readFresh(user.user, outbox.sessions()) });
});

/** Starts a session on this device and returns its id. The server hears of it with the first message. */
export function startSession(from: Pick<Fresh, "after" | "project">): string {
  const fresh: Fresh = {
    ...from,
    session: sessionId(),
    user: store.getState().user?.user ?? "",
    at: Date.now(),
  };
  try {
    keepFresh(fresh);
  } catch {
    // Without room it lasts as long as the page.
  }
  store.setState((known) => ({ fresh: { ...known.fresh, [fresh.session]: fresh } }));
  return fresh.session;
}

/** What belongs to the person and not to a session. A page does without it until it comes. */
function readPersonal(): void {
  const personal = async () => {
    const preferences = await insist<Preferences>("GET", "/me/preferences");
    store.setState({ preferences });
    if (preferences.language !== null && preferences.language !== language())
      setLanguage(preferences.language === "de" ? "de" : "en");
  };
  const device = async () => {
    const { logins } = await insist<{ logins: { name: string; this: boolean }[] }>("GET", "/logins");
    store.setState({ device: logins.find((login) => login.this)?.name });
  };
  for (const read of [personal, device]) read().catch(() => undefined);
}

/** Reads the models again, because they were changed. */
export async function readModels(): Promise<void> {
  const { models } = await insist<{ models: Model[] }>("GET", "/models");
  store.setState({ models });
}

/** Cuts this page's connection for a while, for who wants to see that it does no harm. */
export function cutFor(millis: number): void {
  connection.cut(millis);
}

/** Without the server: what this device has, for who was here last. */
function showKnown(): void {
  const { user, link } = store.getState();
  const known = user ?? knownMe();
  if (user === undefined) store.setState({ user: known });
  if (known !== undefined) readDevice(known);
  if (link.kind === "opening") store.setState({ link: { kind: "away", since: Date.now() } });
}

function signedOut(): void {
  forgetMe();
  store.setState({ user: null });
}

/** Ends this login. The page is loaded anew: nothing of what it knows is for who comes next. */
export async function signOut(): Promise<void> {
  await ask("POST", "/logout");
  forgetMe();
  // Who leaves on purpose is not told that the login ended.
  localStorage.removeItem(SIGNED_IN);
  location.assign("/");
}

export function tryNow(): void {
  if (again === undefined) connection.now();
  else void begin();
}

/** Follows a session for as long as something shows it. */
export function follow(session: string): () => void {
  const count = followed.get(session) ?? 0;
  followed.set(session, count + 1);
  if (count === 0) askFor(session);
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
function askFor(session: string): void {
  const known = store.getState().sessions[session];
  if (known === undefined) return connection.say({ follow: { session } });
  connection.say({ follow: { session, after: known.state.link.seq, hash: known.hash } });
}

function opened(): void {
  const { link } = store.getState();
  const missed = link.kind === "away" ? { missed: { since: link.since, until: Date.now() } } : {};
  // A server that cannot keep anything says so right after the beginning.
  store.setState({ link: { kind: "open", ...missed }, unwritable: undefined });
  connection.say({ follow_list: {} });
  for (const session of followed.keys()) askFor(session);
  outbox.deliver();
}

function closed(): void {
  const { link } = store.getState();
  const heard = lastHeard === undefined ? {} : { heard: lastHeard };
  if (link.kind !== "away") store.setState({ link: { kind: "away", since: Date.now(), ...heard } });
  // A login that ended also ends the socket; only the server can tell the one from the other.
  ask("GET", "/me").catch((error: unknown) => {
    if (error instanceof Refused && error.status === 401) signedOut();
  });
}

function told(told: Told): void {
  lastHeard = Date.now();
  if (told.hello !== undefined) {
    store.setState({ newer: isOther(told.hello.build) });
  } else if (told.snapshot !== undefined) {
    const { session, state } = told.snapshot;
    gathered.delete(session);
    void replica.arrived(session, state);
    put(session, { state, hash: state.link.hash, caughtUp: true });
  } else if (told.entries !== undefined) {
    const { session, entries, caught_up, hash } = told.entries;
    const waiting = gathered.get(session) ?? { entries: [], hash: null, caughtUp: false };
    waiting.entries.push(...entries);
    waiting.hash = hash ?? waiting.hash;
    waiting.caughtUp ||= caught_up;
    gathered.set(session, waiting);
    flushSoon();
  } else if (told.cut_off !== undefined) {
    if (followed.has(told.cut_off.session)) askFor(told.cut_off.session);
  } else if (told.refused !== undefined) {
    refuse(told.refused.session, told.refused.problem.code, told.refused.problem.detail);
  } else if (told.list !== undefined) {
    listed(told.list);
  } else if (told.line !== undefined) {
    lineTold(told.line);
  } else if (told.gone !== undefined) {
    sessionGone(told.gone.session);
  } else if (told.draft !== undefined) {
    const { draft } = told;
    store.setState(({ drafts }) => ({ drafts: { ...drafts, [draft.session]: draft } }));
  } else if (told.store !== undefined) {
    const { writable, problem } = told.store;
    store.setState({ unwritable: writable ? undefined : { problem: problem ?? "" } });
  } else if (told.list_cut_off !== undefined) {
    connection.say({ follow_list: {} });
  }
}

function refuse(session: string | null, code: string, detail: string): void {
  if (session === null) return;
  if (code === "beyond_end" || code === "another_log") {
    // The server came back with less than was shown here; what it has is the truth, and this device keeps the rest.
    const known = store.getState().sessions[session];
    if (known !== undefined) replica.exceeded(session, known.state);
    store.setState(({ sessions: { [session]: _, ...sessions } }) => ({ sessions }));
    askFor(session);
    return;
  }
  store.setState(({ unknown }) => ({ unknown: { ...unknown, [session]: detail } }));
}

function put(session: string, known: Session): void {
  store.setState(({ sessions }) => ({ sessions: { ...sessions, [session]: known }, heardAt: thisSecond() }));
  outbox.reached(session, known.state.link.seq);
  replica.shown(session, known.state);
}

function thisSecond(): number {
  return Math.floor(Date.now() / 1_000) * 1_000;
}

function flush(): void {
  for (const [session, { entries, hash, caughtUp }] of gathered) {
    const known = store.getState().sessions[session];
    if (known === undefined) continue;
    try {
      const state = fold(known.state, entries);
      outbox.arrived(session, entries);
      put(session, { state, hash: hash ?? known.hash, caughtUp: known.caughtUp || caughtUp });
    } catch (error) {
      if (!(error instanceof Gap)) throw error;
      askFor(session);
    }
  }
  gathered.clear();
}
