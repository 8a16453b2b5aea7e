// Passkeys through the browser's WebAuthn API. Options and credentials are exchanged with the server as JSON.

import { ask } from "../api/client";
import type { Me } from "../live/me";

interface Ceremony<T> {
  ceremony: string;
  options: { publicKey: T };
}

/** Returns whether this browser supports passkeys on this page. */
export function canPasskeys(): boolean {
  return (
    typeof PublicKeyCredential !== "undefined" &&
    typeof PublicKeyCredential.parseRequestOptionsFromJSON === "function"
  );
}

/** Returns whether the browser can offer passkeys in its autofill. */
export async function canOffer(): Promise<boolean> {
  return canPasskeys() && (await PublicKeyCredential.isConditionalMediationAvailable?.()) === true;
}

/** Signs in with a passkey. `offered` waits, without a limit, until the user picks one from the autofill. */
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

/** Creates a passkey and saves it under a name. */
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

/** Returns whether the user canceled, or the device had no passkey. Nothing has changed then. */
export function turnedAway(error: unknown): boolean {
  return error instanceof DOMException && ["NotAllowedError", "AbortError"].includes(error.name);
}
