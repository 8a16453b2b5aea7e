// Content that belongs to a user: what they wrote, attached or were shown. Each name holds the kind and the user, so that
// nobody else who signs in in this browser reads it, and signing out can delete all of it.

import { names, read, remove, SET_ASIDE, tryWrite, write } from "./local";

export const KINDS = ["draft", "draft-base", "files", "model", "new", "outbox", "shown"] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds that may hold what the server does not have: signing out may keep them. */
const UNSENT: readonly Kind[] = ["draft", "draft-base", "files", "new", "outbox"];

/** Marks a user who signed out here, and what they kept: a tab that is late writes nothing else. */
const LEFT = "left:";
export type Kept = "nothing" | "unsent";

/** A user's name as a part of a place: it never holds the sign between parts. */
export const partOf = (user: string) => encodeURIComponent(user);

/** Returns the place of a user's value. */
export function placeOf(user: string, kind: Kind, ...rest: readonly string[]): string {
  return [kind, partOf(user), ...rest].join(":");
}

/** Returns the places of a user's values of a kind. */
export function placesOf(user: string, kind: Kind, ...rest: readonly string[]): string[] {
  return names(`${placeOf(user, kind, ...rest)}:`);
}

/** Returns whether something of a user may be written: not after they signed out, but for what they kept. */
export function mayWrite(user: string, isUnsent: boolean): boolean {
  return isAllowed(partOf(user), isUnsent);
}

function isAllowed(part: string, isUnsent: boolean): boolean {
  const kept = read(LEFT + part);
  return kept === null || (kept === ("unsent" satisfies Kept) && isUnsent);
}

/**
 * Writes a user's text. Does nothing after the user signed out and deleted it.
 *
 * @throws if the device has no room. Then the text of before is still there.
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

/** Writes a user's text that is not worth an error. */
export function tryWriteOwn(place: string, text: string): void {
  try {
    writeOwn(place, text);
  } catch {
    return;
  }
}

/** Deletes a user's values, but for what they keep. */
export function wipeOwn(user: string, kept: Kept): void {
  for (const name of names("")) {
    const place = name.startsWith(SET_ASIDE) ? name.slice(SET_ASIDE.length) : name;
    const [kind, whose] = place.split(":", 2);
    if (!isKind(kind) || whose !== partOf(user)) continue;
    if (kept === "nothing" || !UNSENT.includes(kind)) remove(name);
  }
}

/** From now on, nothing of a user is written here but what they keep, until they sign in again. */
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

/** Names the user whose content this page reads and writes. */
export function actFor(user: string): void {
  remove(LEFT + partOf(user));
  if (current === user) return;
  current = user;
  for (const hear of hearers) hear();
}

/** Returns the user whose content this page reads and writes; empty before anybody is known. */
export function owner(): string {
  return current;
}

/** Calls `hear` when another user's content is read from now on. */
export function onOwner(hear: () => void): void {
  hearers.add(hear);
}

/** Returns the place of a value of this page's user. */
export function ownPlace(kind: Kind, ...rest: readonly string[]): string {
  return placeOf(current, kind, ...rest);
}
