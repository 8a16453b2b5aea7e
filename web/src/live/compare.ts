// Checks whether the server's log still has an entry. After a restored backup, its number may belong to another one.

import type { Problem } from "../api/client";

const PATIENCE = 8_000;
/** Bytes of the hash in a cursor. */
const HASH_BYTES = 4;

/** Returns whether a session has an entry. Without an answer from the server, assumes that it does. */
export async function hasEntry(session: string, seq: number, hash: readonly number[]): Promise<boolean> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE);
  try {
    const digits = hash.slice(0, HASH_BYTES).map((byte) => byte.toString(16).padStart(2, "0"));
    const path = `/api/v1/sessions/${session}/events?after=${seq}.${digits.join("")}`;
    const response = await fetch(path, { signal: stop.signal });
    if (response.status !== 409) return true;
    const { code } = (await response.json()) as Problem;
    return code !== "another_log" && code !== "beyond_end";
  } catch {
    return true;
  } finally {
    clearTimeout(timer);
    // Cancels the body: the entries themselves arrive over the socket.
    stop.abort();
  }
}
