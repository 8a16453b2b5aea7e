// This browser is a replica: it keeps what it showed of each session. If the server ever comes back with less, that is shown
// beside the session, to be saved as a file. It is never appended.

import { del, get, set } from "idb-keyval";
import type { StoreApi } from "zustand/vanilla";

import type { State, TurnView } from "../log/types";
import { turnView } from "../log/view";
import type { Known } from "./store";

/** The end of a session as this device showed it. */
export interface Seen {
  seq: number;
  /** When it was shown. */
  at: number;
  turns: TurnView[];
}

/** Turns that are kept of each session: what a server can lose is short. */
const TURNS = 8;
/** A disk need not write every frame. */
const PAUSE = 1_000;

const place = (session: string) => `seen:${session}`;
const lostPlace = (session: string) => `lost:${session}`;

function seenOf(state: State): Seen {
  return { seq: state.link.seq, at: Date.now(), turns: state.turns.slice(-TURNS).map(turnView) };
}

export class Replica {
  /** Sessions whose earlier visit was looked at: only then may it be written over. */
  private readonly looked = new Set<string>();
  private readonly waiting = new Map<string, State>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly store: StoreApi<Known>) {}

  /** A state came whole: it may hold less than was shown here on an earlier visit. */
  async arrived(session: string, state: State): Promise<void> {
    if (this.looked.has(session)) return;
    this.looked.add(session);
    try {
      const [seen, lost] = await Promise.all([get<Seen>(place(session)), get<Seen>(lostPlace(session))]);
      if (seen !== undefined && seen.seq > state.link.seq) await this.keep(session, seen);
      else if (lost !== undefined) this.show(session, lost);
    } catch {
      // A device that keeps nothing has nothing to compare with.
    }
  }

  /** The server has less than this page shows. */
  exceeded(session: string, state: State): void {
    this.waiting.delete(session);
    void this.keep(session, seenOf(state));
  }

  /** Keeps the end of what is shown. */
  shown(session: string, state: State): void {
    if (!this.looked.has(session)) return;
    this.waiting.set(session, state);
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      for (const [session, state] of this.waiting)
        void set(place(session), seenOf(state)).catch(() => undefined);
      this.waiting.clear();
    }, PAUSE);
  }

  discard(session: string): void {
    this.store.setState(({ lost: { [session]: _, ...lost } }) => ({ lost }));
    void del(lostPlace(session));
  }

  private async keep(session: string, seen: Seen): Promise<void> {
    this.show(session, seen);
    await set(lostPlace(session), seen).catch(() => undefined);
    await del(place(session)).catch(() => undefined);
  }

  private show(session: string, seen: Seen): void {
    this.store.setState(({ lost }) => ({ lost: { ...lost, [session]: seen } }));
  }
}
