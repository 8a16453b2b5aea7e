// Requests that fail, told to eyes and ears in one whole sentence.

import { Refused } from "../api/client";
import { store, type Known } from "../live/store";
import { announce } from "./announce";
import { ui } from "./ui";

/** Returns the server's own words, or `unreachable` if it gave no answer. */
export function why(error: unknown, unreachable: string): string {
  return error instanceof Refused ? error.detail : unreachable;
}

/**
 * Waits for a request and shows a notice if it fails; `unreachable` is the notice if the server gave no answer. The notice
 * goes once `isOver` says that its cause is gone.
 */
export async function attempt(
  unreachable: string,
  asked: Promise<unknown>,
  isOver?: (known: Known) => boolean,
): Promise<void> {
  try {
    await asked;
    ui.setState({ notice: undefined });
  } catch (error) {
    if (isOver?.(store.getState()) === true) return ui.setState({ notice: undefined });
    const text = why(error, unreachable);
    const kind = error instanceof Refused ? "refused" : "unreachable";
    ui.setState({ notice: { text, kind, ...(isOver === undefined ? {} : { isOver }) } });
    announce(text);
  }
}

store.subscribe((known, before) => {
  const { notice } = ui.getState();
  if (notice === undefined) return;
  // A notice that the server is unreachable is no longer true once it is back.
  const back = known.link.kind === "open" && before.link.kind !== "open";
  const over = (back && notice.kind === "unreachable") || notice.isOver?.(known) === true;
  if (over) ui.setState({ notice: undefined });
});
