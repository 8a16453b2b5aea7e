// The only place that touches IndexedDB: what is too large, or comes too often, for the small values of `local.ts`. A browser
// that denies it rejects every call.

import { delMany, get, getMany, keys, setMany } from "idb-keyval";

import { mayWrite, partOf, type Kept } from "./own";

/** What is kept of a user: the end of a session that was shown, its turns, turns that the server lost, files on their way. */
export type Stored = "seen" | "turn" | "lost" | "file";

/** What the server may not have: signing out may keep it. */
const UNSENT: readonly string[] = ["lost", "file"] satisfies Stored[];
const STORED: readonly string[] = ["seen", "turn", "lost", "file"] satisfies Stored[];

/** Older names are moved before anything is read. */
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

  /** Writes all values, or none. Nothing is written after the user signed out, but for what they kept. */
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
    // Begun in this task: a page that is being closed has no other.
    await setMany(values.map(([kind, rest, value]) => [this.name(kind, ...rest), value]));
  }

  async remove(...places: readonly (readonly [kind: Stored, ...rest: string[]])[]): Promise<void> {
    await ready;
    await delMany(places.map(([kind, ...rest]) => this.name(kind, ...rest)));
  }

  /** Returns the rest of the names of a kind. */
  async names(kind: Stored, ...rest: readonly string[]): Promise<string[]> {
    await ready;
    const prefix = `${this.name(kind, ...rest)}:`;
    const all = (await storedNames()).filter((name) => name.startsWith(prefix));
    return all.map((name) => name.slice(prefix.length));
  }

  /** Deletes everything of the user, but for what they keep. */
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

/** Gives values of the older layout, which named no user, to `user`. */
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
