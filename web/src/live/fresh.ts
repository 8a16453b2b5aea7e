// New sessions that exist on this device only. The server creates one when its first message is sent.

import { hasDraft } from "../storage/drafts";
import { hasTexts, read, readValue, remove } from "../storage/local";
import { ownPlace, placeOf, placesOf, writeOwn } from "../storage/own";

/** A session that the server does not know yet, and what to create it with. */
export interface Fresh {
  session: string;
  /** The user that started it: nobody else who signs in on this device sends it. */
  user: string;
  at: number;
  /** The session that the user came from. */
  after?: string;
  project?: string;
}

/** A session that nothing was written in is forgotten after a day; until then a reload finds it. */
const BLANK_MAX = 24 * 60 * 60 * 1_000;

/** Returns a UUIDv7, as the server makes them: ids sort by the time of their creation. */
export function sessionId(now = Date.now()): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  // 48 bits of milliseconds, the version, 12 random bits, the variant, 62 random bits.
  for (let at = 0; at < 6; at += 1) bytes[at] = Math.floor(now / 2 ** (40 - 8 * at));
  bytes[6] = 0x70 | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** Whether a change of the device's storage concerns new sessions. */
export function isFreshPlace(place: string | null): boolean {
  return place === null || place.startsWith("new:");
}

/** Throws if the device has no room. */
export function keepFresh(fresh: Fresh): void {
  writeOwn(placeOf(fresh.user, "new", fresh.session), JSON.stringify(fresh));
}

export function dropFresh({ user, session }: Pick<Fresh, "user" | "session">): void {
  remove(placeOf(user, "new", session));
}

function isFresh(value: unknown): value is Fresh {
  return hasTexts(value, "session", "user") && typeof value["at"] === "number";
}

/** Returns the user's new sessions on this device. Blank ones without a message in `unsent` are forgotten in time. */
export function readFresh(user: string, unsent: ReadonlySet<string>): Record<string, Fresh> {
  const known: Record<string, Fresh> = {};
  for (const place of placesOf(user, "new")) {
    const fresh = readValue(place, isFresh);
    if (fresh?.user !== user) continue;
    const { session, at } = fresh;
    if (isBlank(session) && !unsent.has(session) && Date.now() - at > BLANK_MAX) dropFresh(fresh);
    else known[session] = fresh;
  }
  return known;
}

/** Whether nothing was written or attached in a session on this device, sent messages aside. */
export function isBlank(session: string): boolean {
  return !hasDraft(session) && read(ownPlace("files", session)) === null;
}
