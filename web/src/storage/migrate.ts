// Migrates from the older layout, whose names had no user. Each value is moved once; nothing reads the old names.

import { names, read, remove, SET_ASIDE, write } from "./local";
import { isKind, placeOf, type Kind } from "./own";
import { newId } from "../shell/id";

/** Moves values of the older layout. Messages and new sessions name their user; all others go to `user`. */
export function migrate(user: string): void {
  const tabs = new Map<string, string>();
  /** Returns one new, closed tab per session, shared by a draft and its base. */
  const tabOf = (session: string) => {
    const tab = tabs.get(session) ?? newId();
    tabs.set(session, tab);
    return tab;
  };
  for (const name of names("")) {
    const aside = name.startsWith(SET_ASIDE) ? SET_ASIDE : "";
    const [kind, ...rest] = name.slice(aside.length).split(":");
    if (!isKind(kind) || rest.length !== (kind === "shown" ? 0 : 1)) continue;
    const text = read(name);
    if (text === null) continue;
    const tab = kind === "draft" || kind === "draft-base" ? rest.map(tabOf) : [];
    move(name, aside + placeOf(userOf(kind, text) ?? user, kind, ...rest, ...tab), text);
  }
}

function userOf(kind: Kind, text: string): string | undefined {
  if (kind !== "outbox" && kind !== "new") return undefined;
  try {
    const { user } = (JSON.parse(text) ?? {}) as { user?: unknown };
    return typeof user === "string" ? user : undefined;
  } catch {
    return undefined;
  }
}

function move(from: string, to: string, text: string): void {
  try {
    write(to, text);
    remove(from);
  } catch {
    // Storage is full: the value stays in place until the next migration.
  }
}
