// The state of this tab and its sources: the signed-in user, the server's messages, and the data stored on this device.

import { createStore } from "zustand/vanilla";

import { ask, askAs, Refused, type Schemas } from "../api/client";
import { SHAPE } from "../log/shape";
import type { State } from "../log/types";
import { lineTold, listed, onList, sessionGone } from "../sessions/lists";
import type { Line } from "../sessions/types";
import { Database, moveOlder } from "../storage/database";
import { flushWithPage, localDrafts } from "../storage/drafts";
import { dropFiles } from "../storage/files";
import { read, remove, tryWrite } from "../storage/local";
import { migrate } from "../storage/migrate";
import { actFor, leftUsers, owner, wipeOwn } from "../storage/own";
import { isOther } from "./build";
import { Connection, type Draft, type Told } from "./connection";
import { Following } from "./following";
import { isFreshPlace, keepFresh, readFresh, sessionId, type Fresh } from "./fresh";
import { forgetMe, keepMe, knownMe, type Me } from "./me";
import { Outbox, type Trouble, type Waiting } from "./outbox";
import { readPersonal } from "./personal";
import { Replica, type Seen } from "./seen";
import { newId } from "../shell/id";

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
export const DEVICE = newId();

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
  /** Sessions that the server refused to show, with the error code of each. */
  unknown: Record<string, string>;
  outbox: Waiting[];
  /** Why the messages of a session could not be sent yet, by session. */
  unsent: Record<string, Trouble>;
  /** New sessions that exist on this device only. */
  fresh: Record<string, Fresh>;
  /** What is being written, as the server told last. */
  drafts: Record<string, Draft>;
  models: Model[];
  /** What this device showed of sessions and the server no longer has. */
  lost: Record<string, Seen>;
  /** Whether the server has another page than this one. */
  newer: boolean;
  /** Whether the server folds states of another shape. This page then shows only what it already has. */
  outdated: boolean;
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
  unsent: {},
  fresh: {},
  drafts: {},
  models: [],
  lost: {},
  newer: false,
  outdated: false,
  heardAt: 0,
}));

const address = `${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/api/v1/live`;
const connection = new Connection(address, { opened, told, closed });
export const outbox = new Outbox(store);
export const replica = new Replica(store);
const following = new Following({ store, say: (said) => connection.say(said), outbox, replica });
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
    const before = read(SIGNED_IN);
    tryWrite(SIGNED_IN, user.user);
    keepMe(user);
    askAs(user.user);
    // Somebody else signs in here: nothing of what was shown is theirs.
    if (owner() !== "" && owner() !== user.user) return location.reload();
    readDevice(user, before);
    store.setState({ user });
    readPersonal();
    connection.start();
    outbox.deliver();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) return signedOut();
    showKnown();
    again = setTimeout(() => void begin(), 1_000);
  }
}

/** Loads a user's data from this device. `before` is the last user who signed in here. */
function readDevice({ user }: Me, before: string | null): void {
  if (owner() !== user) {
    // Values without a user name belong to the last user.
    migrate(before ?? user);
    void moveOlder(before ?? user);
  }
  actFor(user);
  outbox.load(user);
  store.setState({ fresh: readFresh(user, outbox.sessions(user)) });
}

/** Deletes data that a tab wrote while another tab signed its user out. */
function deleteLate(): void {
  for (const user of leftUsers()) {
    wipeOwn(user, "nothing");
    void new Database(user).wipe("nothing").catch(() => undefined);
  }
}

// Reacts to other tabs: sign-ins, sign-outs, new sessions and messages.
window.addEventListener("storage", ({ key, newValue }) => {
  const { user } = store.getState();
  // Another user signed in in another tab: reload, to show nothing of the previous user.
  if (key === SIGNED_IN && user != null && newValue !== null && newValue !== user.user) location.reload();
  // A user signed in in another tab: stop waiting and load.
  if (key === SIGNED_IN && user === null && newValue !== null) void begin();
  // The user signed out in another tab: reload, to show and save nothing of them.
  if (key === SIGNED_IN && user != null && newValue === null) location.reload();
  outbox.changed(key);
  if (isFreshPlace(key) && user != null)
    store.setState({ fresh: readFresh(user.user, outbox.sessions(user.user)) });
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

/** Cuts this page's connection for a while, to demonstrate that nothing is lost. */
export function cutFor(millis: number): void {
  connection.cut(millis);
}

/** Without the server: what this device has, for who was here last. */
function showKnown(): void {
  const { user, link } = store.getState();
  const known = user ?? knownMe();
  if (user === undefined) store.setState({ user: known });
  if (known !== undefined) readDevice(known, read(SIGNED_IN));
  if (link.kind === "opening") store.setState({ link: { kind: "away", since: Date.now() } });
}

function signedOut(): void {
  connection.stop();
  deleteLate();
  forgetMe();
  store.setState({ user: null });
}

/** Clears the signed-in user without the notice that a login ended. */
export function endLogin(): void {
  connection.stop();
  forgetMe();
  remove(SIGNED_IN);
}

export function tryNow(): void {
  if (again === undefined) connection.now();
  else void begin();
}

/** Follows a session for as long as something shows it. */
export function follow(session: string): () => void {
  return following.follow(session);
}

function opened(): void {
  const { link } = store.getState();
  const missed = link.kind === "away" ? { missed: { since: link.since, until: Date.now() } } : {};
  // A server that cannot keep anything says so right after the beginning.
  store.setState({ link: { kind: "open", ...missed }, unwritable: undefined });
  connection.say({ follow_list: {} });
  following.opened();
  outbox.deliver();
}

function closed(): void {
  const { link } = store.getState();
  following.closed();
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
    const outdated = told.hello.shape !== undefined && told.hello.shape !== SHAPE;
    store.setState({ newer: isOther(told.hello.build), outdated });
  } else if (store.getState().outdated && (told.snapshot ?? told.entries) !== undefined) {
    return;
  } else if (told.snapshot !== undefined) {
    following.snapshot(told.snapshot);
  } else if (told.entries !== undefined) {
    following.entries(told.entries);
  } else if (told.cut_off !== undefined) {
    following.cutOff(told.cut_off.session);
  } else if (told.refused !== undefined) {
    if (told.refused.session !== null) following.refused(told.refused.session, told.refused.problem);
  } else if (told.list !== undefined) {
    listed(told.list);
  } else if (told.line !== undefined) {
    lineTold(told.line);
  } else if (told.gone !== undefined) {
    sessionGone(told.gone.session);
    forgetSession(told.gone.session);
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

/** Deletes everything this device stores of an erased session. */
function forgetSession(session: string): void {
  localDrafts().forget(session);
  dropFiles(session);
  void replica.forget(session);
}

flushWithPage();
window.addEventListener("pagehide", replica.flush);
