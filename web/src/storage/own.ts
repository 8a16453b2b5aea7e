// Data that belongs to a user: drafts, attachments, messages and sessions shown. Each name contains the kind
// and the user. No other user of this browser reads it, and signing out can delete all of it.

import { names, read, remove, SET_ASIDE, tryWrite, write } from "./local";

export const KINDS = ["draft", "draft-base", "files", "model", "new", "outbox", "shown"] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds that may hold data the server does not have. Signing out may keep them. */
const UNSENT: readonly Kind[] = ["draft", "draft-base", "files", "new", "outbox"];

/** Marks a user who signed out here, and what they kept, so that a tab that is late writes nothing else. */
const LEFT = "left:";
export type Kept = "nothing" | "unsent";

/** Encodes a user's name for use in a place, without the separator. */
export const partOf = (user: string) => encodeURIComponent(user);

/** Returns the place of a user's value. */
export function placeOf(user: string, kind: Kind, ...rest: readonly string[]): string {
  return [kind, partOf(user), ...rest].join(":");
}

/** Returns the places of a user's values of a kind. */
export function placesOf(user: string, kind: Kind, ...rest: readonly string[]): string[] {
  return names(`${placeOf(user, kind, ...rest)}:`);
}

/** Returns whether a user's value may be written. After a sign-out, only values that the user kept may. */
export function mayWrite(user: string, isUnsent: boolean): boolean {
  return isAllowed(partOf(user), isUnsent);
}

function isAllowed(part: string, isUnsent: boolean): boolean {
  const kept = read(LEFT + part);
  return kept === null || (kept === ("unsent" satisfies Kept) && isUnsent);
}

/**
 * Writes a user's text, unless the user signed out and deleted it.
 *
 * @throws if storage is full. The previous text is then unchanged.
 */
export function writeOwn(place: string, text: string): void {
  const [kind = "", user = ""] = place.split(":", 2);
  if (
    isAllowed(
      user,
      UNSENT.some((one) => one === kind),
    )
  )
    write(place, text);
}

/** Writes a user's text and ignores a failure. */
export function tryWriteOwn(place: string, text: string): void {
  try {
    writeOwn(place, text);
  } catch {
    return;
  }
}

/** Deletes a user's values, except those that they keep. */
export function wipeOwn(user: string, kept: Kept): void {
  for (const name of names("")) {
    const place = name.startsWith(SET_ASIDE) ? name.slice(SET_ASIDE.length) : name;
    const [kind, whose] = place.split(":", 2);
    if (!isKind(kind) || whose !== partOf(user)) continue;
    if (kept === "nothing" || !UNSENT.includes(kind)) remove(name);
  }
}

/** Blocks writes for a user until they sign in again, except for what they keep. */
export function markLeft(user: string, kept: Kept): void {
  tryWrite(LEFT + partOf(user), kept);
}

/** Returns the users who signed out here, kept nothing and have not come back. */
export function leftUsers(): string[] {
  const left = names(LEFT).filter((name) => read(name) === ("nothing" satisfies Kept));
  return left.map((name) => decodeURIComponent(name.slice(LEFT.length)));
}

export function isKind(kind: string | undefined): kind is Kind {
  return (KINDS as readonly (string | undefined)[]).includes(kind);
}

let current = "";
const hearers = new Set<() => void>();

/** Sets the user whose data this page reads and writes. */
export function actFor(user: string): void {
  remove(LEFT + partOf(user));
  if (current === user) return;
  current = user;
  for (const hear of hearers) hear();
}

/** Returns the user whose data this page reads and writes, or an empty string before one is known. */
export function owner(): string {
  return current;
}

/** Calls `hear` whenever the current user changes. */
export function onOwner(hear: () => void): void {
  hearers.add(hear);
}

/** Returns the place of a value of the current user. */
export function ownPlace(kind: Kind, ...rest: readonly string[]): string {
  return placeOf(current, kind, ...rest);
}
