// Messages that were sent here and are not known to be kept there. They are on this device before anything is asked of
// the network, go out in order, each under a key of its own, and leave when their entry comes back.

import type { StoreApi } from "zustand/vanilla";

import { ask, Refused, type Kept } from "../api/client";
import type { Attachment, Entry } from "../log/types";
import { dropFresh, keepFresh, type Fresh } from "./fresh";
import type { Known } from "./store";

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
  /** Why the server will not take it. It stays until the person decides. */
  refused?: string;
}

// A place of its own for each message: tabs of one browser share it, and none writes over what another keeps. It is
// written before the call returns, so that the field can be cleared at once and nothing typed next is cleared with it.
const PLACE = "outbox:";

function keep(waiting: Waiting): void {
  localStorage.setItem(PLACE + waiting.key, JSON.stringify(waiting));
}

function kept(): Waiting[] {
  const places = Object.keys(localStorage).filter((place) => place.startsWith(PLACE));
  const texts = places.flatMap((place) => localStorage.getItem(place) ?? []);
  return texts.map((text) => JSON.parse(text) as Waiting).sort((one, other) => one.at - other.at);
}

const WAIT_MAX = 10_000;

export class Outbox {
  private delivering = false;
  private wait = 300;

  constructor(private readonly store: StoreApi<Known>) {}

  /** Shows what the user sent on this device and the server is not known to have. */
  load(user: string): void {
    this.store.setState({ outbox: kept().filter((waiting) => (waiting.user ?? user) === user) });
  }

  /** Returns the sessions of all messages that this device keeps, also of other tabs and users. */
  sessions(): ReadonlySet<string> {
    return new Set(kept().map(({ session }) => session));
  }

  /** Keeps a message on this device, then sends it. Throws when there is no room; then nothing was kept. */
  send(message: Omit<Waiting, "key" | "at" | "user">): void {
    const { fresh, user: me } = this.store.getState();
    const user = me?.user;
    const by = user === undefined ? {} : { user };
    const waiting: Waiting = { ...message, ...by, key: crypto.randomUUID(), at: Date.now() };
    const started = fresh[message.session];
    // A message is of no use after a reload without what its session is created with.
    if (started !== undefined) keepFresh(started);
    keep(waiting);
    this.store.setState(({ outbox }) => ({ outbox: [...outbox, waiting] }));
    this.deliver();
  }

  /** Forgets a message: it is kept by the server, or the person takes it back. */
  discard(key: string): void {
    this.store.setState(({ outbox }) => ({ outbox: outbox.filter((waiting) => waiting.key !== key) }));
    localStorage.removeItem(PLACE + key);
  }

  /** Entries that came: a message whose entry is there is kept. */
  arrived(session: string, entries: readonly Entry[]): void {
    const keys = new Set<unknown>();
    for (const { event } of entries) {
      if ("message_posted" in event) keys.add(event.message_posted.key);
      if ("message_edited" in event) keys.add(event.message_edited.key);
    }
    this.drop((waiting) => waiting.session === session && keys.has(waiting.key));
  }

  /** What this tab shows of a session goes so far. */
  reached(session: string, seq: number): void {
    this.drop((waiting) => waiting.session === session && waiting.kept !== undefined && waiting.kept <= seq);
  }

  deliver(): void {
    if (this.delivering) return;
    this.delivering = true;
    void this.run().finally(() => (this.delivering = false));
  }

  private async run(): Promise<void> {
    for (;;) {
      const next = this.store
        .getState()
        .outbox.find((waiting) => waiting.kept === undefined && waiting.refused === undefined);
      if (next === undefined) return;
      const { session, text, attachments, mode, model, key } = next;
      try {
        await this.create(session);
        const body = { text, attachments, mode, ...(model === undefined ? {} : { model }) };
        const kept = await ask<Kept>("POST", `/sessions/${session}/messages`, { body, key });
        this.wait = 300;
        this.edit(key, { kept: kept.seq });
        const head = this.store.getState().sessions[session]?.state.link.seq;
        if (head !== undefined) this.reached(session, head);
      } catch (error) {
        if (error instanceof Refused && !error.passes && error.status !== 401) {
          this.edit(key, { refused: error.detail });
          continue;
        }
        await new Promise((resolve) => setTimeout(resolve, this.wait * (0.5 + Math.random())));
        this.wait = Math.min(this.wait * 2, WAIT_MAX);
      }
    }
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
    dropFresh(session);
    this.store.setState(({ fresh: { [session]: _, ...fresh } }) => ({ fresh }));
  }

  private edit(key: string, change: Partial<Waiting>): void {
    const known = this.store.getState().outbox.find((waiting) => waiting.key === key);
    if (known === undefined) return;
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
