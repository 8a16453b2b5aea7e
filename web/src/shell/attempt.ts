// Reports failed requests, on screen and to screen readers.

import { Refused } from "../api/client";
import { problemText, type Reasons } from "../api/problems";
import { store, type Known } from "../live/store";
import { announce } from "./announce";
import { ui } from "./ui";

/** Returns the text for a failed request; `unreachable` is the text if the server gave no answer. */
export function why(error: unknown, unreachable: string, here?: Reasons): string {
  return error instanceof Refused ? problemText(error, here) : unreachable;
}

/**
 * Waits for a request and shows a notice if it fails; `unreachable` is the notice if the server gave no answer. The notice
 * disappears as soon as `isOver` returns true.
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
