// Who was here last on this device. A page that is opened without the server shows what this device has, for them.

import type { Schemas } from "../api/client";

const PLACE = "me";

/** Who is here. */
export type Me = Schemas["MeBody"];

/** A browser may refuse to keep anything; then a page waits for the server. */
export function keepMe(me: Me): void {
  try {
    localStorage.setItem(PLACE, JSON.stringify(me));
  } catch {
    return;
  }
}

export function knownMe(): Me | undefined {
  try {
    const me = JSON.parse(localStorage.getItem(PLACE) ?? "null") as Me | null;
    return typeof me?.name === "string" ? me : undefined;
  } catch {
    return undefined;
  }
}

export function forgetMe(): void {
  try {
    localStorage.removeItem(PLACE);
  } catch {
    return;
  }
}
