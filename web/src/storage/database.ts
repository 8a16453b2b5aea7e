// The only module that uses IndexedDB. It stores values that are too large or change too often for `local.ts`.
// Every call rejects if the browser denies access.

import { delMany, get, getMany, keys, setMany } from "idb-keyval";

import { mayWrite, partOf, type Kept } from "./own";

/**
 * Kinds of values: the end of a session that was shown, its turns, turns that the server lost, and files being uploaded.
 */
export type Stored = "seen" | "turn" | "lost" | "file";

/** Kinds that the server may not have. Signing out may keep them. */
const UNSENT: readonly string[] = ["lost", "file"] satisfies Stored[];
const STORED: readonly string[] = ["seen", "turn", "lost", "file"] satisfies Stored[];

/** Resolves once values of the older layout are moved; reads and deletions wait for it. */
let ready: Promise<unknown> = Promise.resolve();

export class Database {
  constructor(readonly user: string) {}

  private name(kind: Stored, ...rest: readonly string[]): string {
    return [kind, partOf(this.user), ...rest].join(":");
  }

  async read<T>(kind: Stored, ...rest: readonly string[]): Promise<T | undefined> {
    await ready;
    return get<T>(this.name(kind, ...rest));
  }

  async readMany<T>(kind: Stored, rest: readonly (readonly string[])[]): Promise<(T | undefined)[]> {
    await ready;
    return getMany<T>(rest.map((parts) => this.name(kind, ...parts)));
  }

  /** Writes all values or none. After a sign-out, writes only if the user kept every one of the kinds. */
  async write(
    values: readonly (readonly [kind: Stored, rest: readonly string[], value: unknown])[],
  ): Promise<void> {
    if (
      !mayWrite(
        this.user,
        values.every(([kind]) => UNSENT.includes(kind)),
      )
    )
      return;
    // Starts the write in this task, because a closing page runs no other.
    await setMany(values.map(([kind, rest, value]) => [this.name(kind, ...rest), value]));
  }

  async remove(...places: readonly (readonly [kind: Stored, ...rest: string[]])[]): Promise<void> {
    await ready;
    await delMany(places.map(([kind, ...rest]) => this.name(kind, ...rest)));
  }

  /** Returns the names of a kind, without the prefix. */
  async names(kind: Stored, ...rest: readonly string[]): Promise<string[]> {
    await ready;
    const prefix = `${this.name(kind, ...rest)}:`;
    const all = (await storedNames()).filter((name) => name.startsWith(prefix));
    return all.map((name) => name.slice(prefix.length));
  }

  /** Deletes the user's values, except those that they keep. */
  async wipe(kept: Kept): Promise<void> {
    await ready;
    const isGone = (name: string) => {
      const [kind = "", user] = name.split(":", 2);
      if (user !== partOf(this.user) || !STORED.includes(kind)) return false;
      return kept === "nothing" || !UNSENT.includes(kind);
    };
    await delMany((await storedNames()).filter(isGone));
  }
}

async function storedNames(): Promise<string[]> {
  return (await keys()).filter((name) => typeof name === "string");
}

/** Moves values of the older layout, which named no user, to `user`. */
export function moveOlder(user: string): Promise<void> {
  const move = async () => {
    const older = (await keys()).map(String).filter((name) => {
      const [kind = "", ...rest] = name.split(":");
      return STORED.includes(kind) && rest.length === 1;
    });
    if (older.length === 0) return;
    const values = await getMany<unknown>(older);
    const names = older.map((name) => name.replace(":", `:${partOf(user)}:`));
    await setMany(names.map((name, at) => [name, values[at]]));
    await delMany(older);
  };
  const moved = move().catch(() => undefined);
  ready = moved;
  return moved;
}
