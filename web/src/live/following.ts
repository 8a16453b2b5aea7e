// The sessions that this tab shows. Each one is a folded log. Entries are batched and folded once per frame;
// nothing else changes a session. The most recently left sessions stay cached, so that going back shows them at once.

import type { StoreApi } from "zustand/vanilla";

import { Gap, fold } from "../log/fold";
import type { Entry, State } from "../log/types";
import type { Said, Told } from "./connection";
import { onceAFrame } from "./frame";
import type { Outbox } from "./outbox";
import type { Replica } from "./seen";
import type { Known, Session } from "./store";

/** The maximum number of sessions that stay cached after they were left. */
const LEFT_MAX = 10;
/** Timeout for the answer to a follow request. A later trigger may then repeat it. */
const ANSWER_MAX = 8_000;

/** Entries received since the last frame. */
interface Gathered {
  entries: Entry[];
  /** The hash of the last entry. */
  hash: number[] | null;
  caughtUp: boolean;
}

interface Parts {
  store: Pick<StoreApi<Known>, "getState" | "setState">;
  say: (said: Said) => void;
  outbox: Pick<Outbox, "arrived" | "reached">;
  replica: Pick<Replica, "arrived" | "exceeded" | "shown" | "leave">;
  soon?: (work: () => void) => () => void;
}

export class Following {
  /** The number of components that show each session. */
  private readonly counts = new Map<string, number>();
  /** Cached sessions that nothing shows, the most recently left one last. */
  private left: string[] = [];
  private readonly gathered = new Map<string, Gathered>();
  /** Start times of follow requests without an answer. While one is pending, a gap in the entries sends no other. */
  private readonly asked = new Map<string, number>();
  /** Sessions reloaded after an error and not folded successfully since. */
  private readonly resynchronized = new Set<string>();
  private readonly flushSoon: () => void;

  constructor(private readonly parts: Parts) {
    this.flushSoon = (parts.soon ?? onceAFrame)(() => this.flush());
  }

  /** Follows a session for as long as something shows it. */
  follow(session: string): () => void {
    const count = this.counts.get(session) ?? 0;
    this.counts.set(session, count + 1);
    if (count === 0) {
      this.left = this.left.filter((other) => other !== session);
      this.ask(session);
    }
    return () => {
      const count = (this.counts.get(session) ?? 1) - 1;
      if (count > 0) this.counts.set(session, count);
      else this.leave(session);
    };
  }

  private leave(session: string): void {
    this.flush();
    this.counts.delete(session);
    this.asked.delete(session);
    this.parts.say({ leave: { session } });
    this.behind([session]);
    // The draft may change meanwhile; the server sends it again with the next follow.
    this.parts.store.setState(({ drafts }) => ({ drafts: without(drafts, session) }));
    this.left = [...this.left.filter((other) => other !== session), session];
    while (this.left.length > LEFT_MAX) this.letGo(this.left.shift() ?? "");
  }

  /** Marks sessions as no longer up to date. */
  private behind(which: readonly string[]): void {
    const { sessions } = this.parts.store.getState();
    const ahead = which.flatMap((session) => {
      const known = sessions[session];
      return known?.caughtUp === true ? [[session, { ...known, caughtUp: false }] as const] : [];
    });
    if (ahead.length > 0)
      this.parts.store.setState({ sessions: { ...sessions, ...Object.fromEntries(ahead) } });
  }

  private letGo(session: string): void {
    this.gathered.delete(session);
    this.resynchronized.delete(session);
    this.parts.replica.leave(session);
    this.parts.store.setState(({ sessions, unknown, lost }) => ({
      sessions: without(sessions, session),
      unknown: without(unknown, session),
      lost: without(lost, session),
    }));
  }

  /** Follows every shown session again on a new connection. */
  opened(): void {
    this.asked.clear();
    for (const session of this.counts.keys()) this.ask(session);
  }

  closed(): void {
    this.behind(Object.keys(this.parts.store.getState().sessions));
  }

  /** Follows from this tab's cursor, or from the server's snapshot if there is none. */
  private ask(session: string): void {
    if (!this.counts.has(session) || Date.now() - (this.asked.get(session) ?? 0) < ANSWER_MAX) return;
    this.asked.set(session, Date.now());
    const known = this.parts.store.getState().sessions[session];
    const from = known === undefined ? {} : { after: known.state.link.seq, hash: known.hash };
    this.parts.say({ follow: { session, ...from } });
  }

  snapshot({ session, state }: { session: string; state: State }): void {
    this.asked.delete(session);
    if (!this.counts.has(session)) return;
    this.gathered.delete(session);
    const known = { state, hash: state.link.hash, caughtUp: true };
    void this.parts.replica.arrived(session, known);
    this.put(session, known);
  }

  entries({ session, entries, caught_up, hash }: NonNullable<Told["entries"]>): void {
    // The answer to a follow request starts with an empty frame.
    if (entries.length === 0 && !caught_up) this.asked.delete(session);
    if (!this.counts.has(session)) return;
    const waiting = this.gathered.get(session) ?? { entries: [], hash: null, caughtUp: false };
    waiting.entries.push(...entries);
    waiting.hash = hash ?? waiting.hash;
    waiting.caughtUp ||= caught_up;
    this.gathered.set(session, waiting);
    this.flushSoon();
  }

  /** Follows again: the server stopped sending this session. */
  cutOff(session: string): void {
    this.flush();
    this.ask(session);
  }

  refused(session: string, { code }: { code: string }): void {
    this.asked.delete(session);
    const { store, replica } = this.parts;
    if (code === "beyond_end" || code === "another_log") {
      // The server has less than this page showed, and its log is authoritative. The replica keeps what is missing.
      const known = store.getState().sessions[session];
      if (known !== undefined) replica.exceeded(session, known);
      store.setState(({ sessions }) => ({ sessions: without(sessions, session) }));
      this.ask(session);
    } else {
      store.setState(({ unknown }) => ({ unknown: { ...unknown, [session]: code } }));
    }
  }

  private put(session: string, known: Session): void {
    this.parts.store.setState(({ sessions }) => ({
      sessions: { ...sessions, [session]: known },
      heardAt: thisSecond(),
    }));
    this.parts.outbox.reached(session, known.state.link.seq);
    this.parts.replica.shown(session, known);
  }

  private flush(): void {
    const waiting = [...this.gathered];
    // Cleared first, so that entries that fail to fold are not retried every frame.
    this.gathered.clear();
    for (const [session, { entries, hash, caughtUp }] of waiting) {
      const known = this.parts.store.getState().sessions[session];
      if (known === undefined) continue;
      try {
        const state = fold(known.state, entries);
        this.parts.outbox.arrived(session, entries);
        // A batch of repeated entries ends before the state does; its hash is not the newest.
        const isNew = entries.at(-1)?.seq === state.link.seq;
        const newest = (isNew ? hash : null) ?? known.hash;
        this.put(session, { state, hash: newest, caughtUp: known.caughtUp || caughtUp });
        this.resynchronized.delete(session);
      } catch (error) {
        if (error instanceof Gap) this.ask(session);
        else this.resynchronize(session, error);
      }
    }
  }

  /** Reloads a session from the server's snapshot, once. Other sessions are not affected. */
  private resynchronize(session: string, error: unknown): void {
    console.error(error);
    if (this.resynchronized.has(session)) return;
    this.resynchronized.add(session);
    this.parts.say({ follow: { session } });
  }
}

function thisSecond(): number {
  return Math.floor(Date.now() / 1_000) * 1_000;
}

function without<T>(values: Record<string, T>, name: string): Record<string, T> {
  const { [name]: _, ...rest } = values;
  return rest;
}
