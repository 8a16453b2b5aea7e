// Messages sent from this device that the server has not confirmed. Each is saved on this device before the
// first request and removed when its entry arrives. Sessions are sent independently, the messages of one in
// order, each under its own idempotency key.

import type { StoreApi } from "zustand/vanilla";

import { ask, Refused, type Kept } from "../api/client";
import type { Attachment, Entry } from "../log/types";
import { variant } from "../log/variants";
import { hasTexts, read, readValue, remove } from "../storage/local";
import { requestPersistence } from "../storage/persistence";
import { placeOf, placesOf, writeOwn } from "../storage/own";
import { dropFresh, keepFresh, type Fresh } from "./fresh";
import type { Known } from "./store";
import { newId } from "../shell/id";

export type Mode = "queue" | "steer" | "interrupt";

export interface Waiting {
  key: string;
  session: string;
  /** The user that sent it: nobody else who signs in on this device does. */
  user?: string;
  text: string;
  attachments: Attachment[];
  mode: Mode;
  /** Who is to answer, when it is not the first one. */
  model?: string;
  at: number;
  /** The end of the log that holds it, once the server said so. */
  kept?: number;
  /** The error code of the server's refusal. The message stays until the user edits or deletes it. */
  refused?: string;
}

// A place of its own for each message: tabs of one browser share it, and none writes over what another keeps. It is
// written before the call returns, so that the field can be cleared at once and nothing typed next is cleared with it.
const place = (user: string | undefined, key: string) => placeOf(user ?? "", "outbox", key);

function keep(waiting: Waiting): void {
  writeOwn(place(waiting.user, waiting.key), JSON.stringify(waiting));
}

function isWaiting(value: unknown): value is Waiting {
  const isMessage = hasTexts(value, "key", "session", "text", "mode") && Array.isArray(value["attachments"]);
  return isMessage && typeof value["at"] === "number";
}

function kept(user: string): Waiting[] {
  const found = placesOf(user, "outbox").flatMap((place) => readValue(place, isWaiting) ?? []);
  return found.map((waiting) => ({ ...waiting, user })).sort((one, other) => one.at - other.at);
}

const FIRST_WAIT = 300;
const WAIT_MAX = 10_000;
/** Timeout for a request without a body, in milliseconds. */
const PATIENCE = 8_000;
/** The slowest network on which a message must get through, in bytes per millisecond. */
const BYTES_A_MILLI = 8;

/** Why the messages of a session are not sent yet. */
export interface Trouble {
  failures: number;
  /** The server's error code; undefined if the server was unreachable. */
  problem?: string;
  /** When the next attempt starts. */
  retryAt: number;
}

/** Whether a message still has to be sent. */
export const isPending = (waiting: Waiting) => waiting.kept === undefined && waiting.refused === undefined;

export class Outbox {
  /** Sessions that this tab sends, or waits to send. Calling the value ends the pause before the next attempt. */
  private readonly delivering = new Map<string, () => void>();

  /** Without locks, every tab sends the messages it sees; the server deduplicates by key. */
  constructor(
    private readonly store: StoreApi<Known>,
    private readonly locks: Pick<LockManager, "request"> | undefined = globalThis.navigator?.locks,
  ) {}

  /** Shows what the user sent on this device and the server is not known to have. */
  load(user: string): void {
    const outbox = kept(user);
    if (JSON.stringify(outbox) !== JSON.stringify(this.store.getState().outbox))
      this.store.setState({ outbox });
  }

  /** Returns the sessions of all unconfirmed messages of a user on this device, from any tab. */
  sessions(user: string): ReadonlySet<string> {
    return new Set(kept(user).map(({ session }) => session));
  }

  /** Returns the number of a user's messages that the server has not confirmed. */
  count(user: string): number {
    return kept(user).filter((waiting) => waiting.kept === undefined).length;
  }

  /** Reloads the outbox after another tab changed it. */
  changed(place: string | null): void {
    const { user } = this.store.getState();
    if (user == null || (place !== null && !place.startsWith("outbox:"))) return;
    this.load(user.user);
    this.deliver();
  }

  /** Keeps a message on this device, then sends it. Throws when there is no room; then nothing was kept. */
  send(message: Omit<Waiting, "key" | "at" | "user">): void {
    const { fresh, user: me, link } = this.store.getState();
    const user = me?.user;
    const by = user === undefined ? {} : { user };
    const waiting: Waiting = { ...message, ...by, key: newId(), at: Date.now() };
    const started = fresh[message.session];
    // A message is of no use after a reload without what its session is created with.
    if (started !== undefined) keepFresh(started);
    keep(waiting);
    this.store.setState(({ outbox }) => ({ outbox: [...outbox, waiting] }));
    if (link?.kind === "away") requestPersistence();
    this.deliver();
  }

  /** Forgets a message: it is kept by the server, or the person takes it back. */
  discard(key: string): void {
    const { outbox, user } = this.store.getState();
    const known = outbox.find((waiting) => waiting.key === key);
    this.store.setState({ outbox: outbox.filter((waiting) => waiting.key !== key) });
    remove(place(known?.user ?? user?.user, key));
  }

  /** Entries that came: a message whose entry is there is kept. */
  arrived(session: string, entries: readonly Entry[]): void {
    const keys = new Set<unknown>();
    for (const { event } of entries) {
      const posted = variant(event, "message_posted") ?? variant(event, "message_edited");
      if (posted !== undefined) keys.add(posted.key);
    }
    this.drop((waiting) => waiting.session === session && keys.has(waiting.key));
  }

  /** What this tab shows of a session goes so far. */
  reached(session: string, seq: number): void {
    this.drop((waiting) => waiting.session === session && waiting.kept !== undefined && waiting.kept <= seq);
  }

  /** Sends pending messages, each session independently. Ends the pause of a session that waits to retry. */
  deliver(): void {
    const { outbox, user } = this.store.getState();
    if (user == null) return;
    for (const session of new Set(outbox.filter(isPending).map(({ session }) => session))) {
      const hurry = this.delivering.get(session);
      if (hurry !== undefined) {
        hurry();
        continue;
      }
      this.delivering.set(session, () => undefined);
      void this.alone(`${user.user}:${session}`, () => this.run(session, user.user)).finally(() =>
        this.delivering.delete(session),
      );
    }
  }

  /**
   * Runs `work` under a lock, so that one tab at a time sends a session. The next tab takes over when that tab closes.
   */
  private async alone(name: string, work: () => Promise<void>): Promise<void> {
    if (this.locks === undefined) return work();
    await this.locks.request(`outbox:${name}`, work);
  }

  private async run(session: string, user: string): Promise<void> {
    let wait = FIRST_WAIT;
    for (let failures = 0; ;) {
      if (this.store.getState().user?.user !== user) return;
      // Another tab may have sent the message while this one waited.
      this.load(user);
      const next = this.store
        .getState()
        .outbox.find((known) => known.session === session && isPending(known));
      if (next === undefined) return;
      try {
        await this.post(next);
        [wait, failures] = [FIRST_WAIT, 0];
        this.tell(session, undefined);
      } catch (error) {
        const refused = error instanceof Refused ? error : undefined;
        // Stops: the next sign-in starts delivery again.
        if (refused?.status === 401 || refused?.code === "another_user") return;
        if (refused !== undefined && !refused.passes) {
          this.edit(next.key, { refused: refused.code });
          continue;
        }
        failures += 1;
        const pause = wait * (0.5 + Math.random());
        const problem = refused === undefined ? {} : { problem: refused.code };
        this.tell(session, { failures, retryAt: Date.now() + pause, ...problem });
        await this.pause(session, pause);
        wait = Math.min(wait * 2, WAIT_MAX);
      }
    }
  }

  private async post({ session, text, attachments, mode, model, key }: Waiting): Promise<void> {
    await this.create(session);
    const body = { text, attachments, mode, ...(model === undefined ? {} : { model }) };
    const patience = PATIENCE + new TextEncoder().encode(text).length / BYTES_A_MILLI;
    const kept = await ask<Kept>("POST", `/sessions/${session}/messages`, { body, key, patience });
    this.edit(key, { kept: kept.seq });
    const head = this.store.getState().sessions[session]?.state.link.seq;
    if (head !== undefined) this.reached(session, head);
  }

  private pause(session: string, length: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, length);
      this.delivering.set(session, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  private tell(session: string, trouble: Trouble | undefined): void {
    this.store.setState(({ unsent: { [session]: _, ...unsent } }) => ({
      unsent: trouble === undefined ? unsent : { ...unsent, [session]: trouble },
    }));
  }

  /** Creates the session of a first message on the server. Asking again is harmless: the id is this device's own. */
  private async create(session: string): Promise<void> {
    const fresh = this.store.getState().fresh[session];
    if (fresh === undefined) return;
    await begin(fresh);
    const { project } = fresh;
    if (project !== undefined) {
      // A project that was removed meanwhile keeps no message back.
      const moved = ask("PATCH", `/sessions/${session}`, { body: { project } });
      await moved.catch(unless((error) => !error.passes && error.status !== 401));
    }
    dropFresh(fresh);
    this.store.setState(({ fresh: { [session]: _, ...fresh } }) => ({ fresh }));
  }

  private edit(key: string, change: Partial<Waiting>): void {
    const known = this.store.getState().outbox.find((waiting) => waiting.key === key);
    if (known === undefined) return;
    // Another tab removed the message; do not save it again.
    if (read(place(known.user, key)) === null) return this.discard(key);
    const waiting = { ...known, ...change };
    this.store.setState(({ outbox }) => ({
      outbox: outbox.map((other) => (other.key === key ? waiting : other)),
    }));
    keep(waiting);
  }

  private drop(gone: (waiting: Waiting) => boolean): void {
    for (const waiting of this.store.getState().outbox.filter(gone)) this.discard(waiting.key);
  }
}

async function begin({ session: id, after }: Fresh): Promise<void> {
  const create = (body: object) =>
    ask("POST", "/sessions", { body }).catch(unless(({ code }) => code === "session_exists"));
  if (after === undefined) return void (await create({ id }));
  // The session that the user came from may be gone by now.
  const gone = ({ status }: Refused) => status === 404;
  const created = create({ id, after }).then(() => true);
  if (!(await created.catch(unless(gone)))) await create({ id });
}

/** Swallows a refusal that does no harm, and passes on everything else. */
function unless(harmless: (error: Refused) => boolean): (error: unknown) => undefined {
  return (error) => {
    if (!(error instanceof Refused && harmless(error))) throw error;
  };
}
