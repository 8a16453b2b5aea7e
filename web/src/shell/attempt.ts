// Requests that fail, told to eyes and ears in one whole sentence.

import { Refused } from "../api/client";
import { store } from "../live/store";
import { announce } from "./announce";
import { ui } from "./ui";

/** Returns the server's own words, or `unreachable` if it gave no answer. */
export function why(error: unknown, unreachable: string): string {
  return error instanceof Refused ? error.detail : unreachable;
}

/** Waits for a request and shows a notice if it fails; `unreachable` is the notice if the server gave no answer. */
export async function attempt(unreachable: string, asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
    ui.setState({ notice: undefined });
  } catch (error) {
    const text = why(error, unreachable);
    ui.setState({ notice: { text, kind: error instanceof Refused ? "refused" : "unreachable" } });
    announce(text);
  }
}

// A notice that the server is unreachable is no longer true once it is back.
store.subscribe(({ link }, before) => {
  if (link.kind !== "open" || before.link.kind === "open") return;
  if (ui.getState().notice?.kind === "unreachable") ui.setState({ notice: undefined });
});
