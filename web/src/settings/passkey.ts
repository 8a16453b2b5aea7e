// Passkeys, as the browser speaks of them: the server says what it wants in JSON, and is answered in JSON.

import { ask } from "../api/client";
import type { Me } from "../live/me";

interface Ceremony<T> {
  ceremony: string;
  options: { publicKey: T };
}

/** Whether this browser can hold or ask for a passkey here. */
export function canPasskeys(): boolean {
  return (
    typeof PublicKeyCredential !== "undefined" &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function"
  );
}

/** Whether passkeys can be offered among the names that the browser fills in. */
export async function canOffer(): Promise<boolean> {
  return canPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;
}

/** Signs in with a passkey; `offered` waits, for as long as it takes, until the person picks one in the field. */
export async function signInByPasskey(how: "asked" | "offered", signal: AbortSignal): Promise<Me> {
  const { ceremony, options } = await ask<Ceremony<PublicKeyCredentialRequestOptionsJSON>>(
    "POST",
    "/login/passkey/begin",
    { body: {} },
  );
  signal.throwIfAborted();
  const credential = await navigator.credentials.get({
    publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options.publicKey),
    signal,
    ...(how === "offered" ? { mediation: "conditional" } : {}),
  });
  return ask<Me>("POST", "/login/passkey/finish", {
    body: { ceremony, credential: (credential as PublicKeyCredential).toJSON() },
  });
}

/** Makes a passkey and keeps it under a name. */
export async function makePasskey(name: string): Promise<void> {
  const { ceremony, options } = await ask<Ceremony<PublicKeyCredentialCreationOptionsJSON>>(
    "POST",
    "/passkeys/begin",
    { body: {} },
  );
  const credential = await navigator.credentials.create({
    publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options.publicKey),
  });
  await ask("POST", "/passkeys/finish", {
    body: { ceremony, credential: (credential as PublicKeyCredential).toJSON(), name },
  });
}

/** Whether the person turned away, or the device had nothing to offer: not an error, and nothing has changed. */
export function turnedAway(error: unknown): boolean {
  return error instanceof DOMException && ["NotAllowedError", "AbortError"].includes(error.name);
}
