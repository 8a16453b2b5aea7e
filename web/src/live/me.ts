// Who was here last on this device. A page that is opened without the server shows what this device has, for them.

import type { Schemas } from "../api/client";
import { hasTexts, readValue, remove, tryWrite } from "../storage/local";

const PLACE = "me";

/** Who is here. */
export type Me = Schemas["MeBody"];

export function keepMe(me: Me): void {
  tryWrite(PLACE, JSON.stringify(me));
}

export function knownMe(): Me | undefined {
  return readValue(PLACE, isMe);
}

function isMe(value: unknown): value is Me {
  return hasTexts(value, "user", "name");
}

export function forgetMe(): void {
  remove(PLACE);
}
