// This browser is a replica: it keeps what it showed of each session. If the server ever comes back with less, that is shown
// beside the session, to be saved as a file. It is never appended.

import type { StoreApi } from "zustand/vanilla";

import type { State, Turn, TurnView } from "../log/types";
import { turnView } from "../log/view";
import { Database } from "../storage/database";
import { owner } from "../storage/own";
import { hasEntry } from "./compare";
import type { Known } from "./store";

/** The end of a session as this device showed it. */
export interface Seen {
  seq: number;
  /** When it was shown. */
  at: number;
  turns: TurnView[];
  /** The hash of entry `seq`. After a restored backup, the number may belong to another entry. */
  hash?: number[];
}

/** The stored form of `Seen`. Each turn has its own key, so that only changed turns are written. */
type Head = Omit<Seen, "turns"> & { turns: readonly (number | TurnView)[] };

type Kept = Pick<Database, "read" | "readMany" | "write" | "remove" | "names">;

/** Turns that are kept of each session: what a server can lose is short. */
const TURNS = 8;
/** A disk need not write every frame. */
const PAUSE = 1_000;

interface Shown {
  state: State;
  hash: number[];
}

export class Replica {
  /** Sessions whose earlier visit was looked at: only then may it be written over. */
  private readonly looked = new Set<string>();
  private readonly waiting = new Map<string, Shown>();
  /** The turns of each session as last written. */
  private readonly written = new Map<string, ReadonlyMap<number, Turn>>();
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Pick<StoreApi<Known>, "setState">,
    private readonly database: () => Kept = () => new Database(owner()),
    private readonly has: typeof hasEntry = hasEntry,
  ) {}

  /** A state came whole: it may hold less than was shown here on an earlier visit. */
  async arrived(session: string, shown: Shown): Promise<void> {
    if (this.looked.has(session)) return;
    this.looked.add(session);
    try {
      const [seen, lost] = await Promise.all([
        this.seen(session),
        this.database().read<Seen>("lost", session),
      ]);
      if (seen !== undefined && !(await this.isIn(session, shown, seen))) await this.keep(session, seen);
      else if (lost !== undefined) this.show(session, lost);
    } catch {
      // A device that keeps nothing has nothing to compare with.
    }
  }

  /** Returns whether the server still has everything that was shown. */
  private async isIn(session: string, { state, hash }: Shown, seen: Seen): Promise<boolean> {
    if (seen.seq > state.link.seq) return false;
    if (seen.hash === undefined) return true;
    if (seen.seq === state.link.seq) return seen.hash.join() === hash.join();
    return this.has(session, seen.seq, seen.hash);
  }

  private async seen(session: string): Promise<Seen | undefined> {
    const head = await this.database().read<Head>("seen", session);
    if (head === undefined) return undefined;
    const ids = head.turns.filter((turn) => typeof turn === "number");
    const kept = await this.database().readMany<TurnView>(
      "turn",
      ids.map((id) => [session, String(id)]),
    );
    const whole = head.turns.filter((turn) => typeof turn === "object");
    return { ...head, turns: [...whole, ...kept.filter((turn) => turn !== undefined)] };
  }

  /** The server has less than this page shows. */
  exceeded(session: string, { state, hash }: Shown): void {
    this.waiting.delete(session);
    const turns = state.turns.slice(-TURNS).map(turnView);
    void this.keep(session, { seq: state.link.seq, at: Date.now(), hash, turns });
  }

  /** Keeps the end of what is shown. */
  shown(session: string, shown: Shown): void {
    if (!this.looked.has(session)) return;
    this.waiting.set(session, shown);
    this.timer ??= setTimeout(this.flush, PAUSE);
  }

  /** Writes the changes since the last write. */
  readonly flush = (): void => {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const [session, shown] of this.waiting) void this.write(session, shown).catch(() => undefined);
    this.waiting.clear();
  };

  private async write(session: string, { state, hash }: Shown): Promise<void> {
    const turns = state.turns.slice(-TURNS);
    const before = this.written.get(session);
    const head: Head = { seq: state.link.seq, at: Date.now(), hash, turns: turns.map(({ id }) => id) };
    const changed = turns.filter((turn) => before?.get(turn.id) !== turn);
    this.written.set(session, new Map(turns.map((turn) => [turn.id, turn])));
    await this.database()
      .write([
        ["seen", [session], head],
        ...changed.map((turn) => ["turn", [session, String(turn.id)], turnView(turn)] as const),
      ])
      .catch((error: unknown) => {
        this.written.delete(session);
        throw error;
      });
    // Before its first write, a page does not know which turns an earlier page stored.
    const older = before === undefined ? await this.database().names("turn", session) : [...before.keys()];
    const left = older.filter((id) => !turns.some((turn) => turn.id === Number(id)));
    if (left.length > 0)
      await this.database().remove(...left.map((id) => ["turn", session, String(id)] as const));
  }

  discard(session: string): void {
    this.store.setState(({ lost: { [session]: _, ...lost } }) => ({ lost }));
    void this.database()
      .remove(["lost", session])
      .catch(() => undefined);
  }

  /** Releases a session that left the cache. Its next visit compares again. */
  leave(session: string): void {
    this.flush();
    this.looked.delete(session);
    this.written.delete(session);
  }

  /** Deletes everything this device stores of an erased session. */
  async forget(session: string): Promise<void> {
    this.waiting.delete(session);
    this.looked.delete(session);
    this.written.delete(session);
    this.store.setState(({ lost: { [session]: _, ...lost } }) => ({ lost }));
    await this.drop(session, ["lost", session]).catch(() => undefined);
  }

  private async drop(session: string, ...more: (readonly ["lost", string])[]): Promise<void> {
    this.written.delete(session);
    const ids = await this.database().names("turn", session);
    await this.database().remove(
      ["seen", session],
      ...more,
      ...ids.map((id) => ["turn", session, id] as const),
    );
  }

  private async keep(session: string, seen: Seen): Promise<void> {
    this.show(session, seen);
    await this.database()
      .write([["lost", [session], seen]])
      .catch(() => undefined);
    await this.drop(session).catch(() => undefined);
  }

  private show(session: string, seen: Seen): void {
    this.store.setState(({ lost }) => ({ lost: { ...lost, [session]: seen } }));
  }
}
