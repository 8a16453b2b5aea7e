// Runs an action on many sessions, one after another, and reports the outcome.

import { i18n } from "@lingui/core";

import { Refused } from "../api/client";
import { codeText } from "../api/problems";

export type Deed = "archive" | "put_back" | "move" | "tag" | "trash" | "erase";

export interface Outcome {
  done: number;
  total: number;
  /** The error code of each refused session. */
  refused: string[];
  /** Why it ended early. */
  ended?: "unreachable" | "told";
}

/** Runs `act` on each item. Skips refused items; ends early if the server is unreachable or the user stops it. */
export async function oneByOne<T>(
  items: readonly T[],
  act: (item: T) => Promise<unknown>,
  { tell, enough }: { tell: (outcome: Outcome, item: T) => void; enough: () => boolean },
): Promise<Outcome> {
  let outcome: Outcome = { done: 0, total: items.length, refused: [] };
  for (const item of items) {
    if (enough()) return { ...outcome, ended: "told" };
    try {
      await act(item);
      outcome = { ...outcome, done: outcome.done + 1 };
      tell(outcome, item);
    } catch (error) {
      if (!(error instanceof Refused)) return { ...outcome, ended: "unreachable" };
      outcome = { ...outcome, refused: [...outcome.refused, error.code] };
      tell(outcome, item);
    }
  }
  return outcome;
}

/** Returns the progress text. */
export function progressWords(deed: Deed, { done, total, refused }: Outcome): string {
  const values = { done: done + refused.length, total };
  switch (deed) {
    case "archive":
      return i18n.t("Archiving {done} of {total}…", values);
    case "put_back":
      return i18n.t("Restoring {done} of {total}…", values);
    case "move":
      return i18n.t("Moving {done} of {total}…", values);
    case "tag":
      return i18n.t("Updating tags of {done} of {total}…", values);
    case "trash":
      return i18n.t("Moving {done} of {total} to trash…", values);
    case "erase":
      return i18n.t("Deleting {done} of {total}…", values);
  }
}

/** Returns the outcome: the counts, then each reason once. */
export function outcomeWords(deed: Deed, outcome: Outcome): string {
  const { refused, ended } = outcome;
  const words = [doneWords(deed, outcome)];
  if (refused.length > 0) {
    words.push(
      i18n.t(
        "{count, plural, one {# session couldn't be changed.} other {# sessions couldn't be changed.}}",
        {
          count: refused.length,
        },
      ),
      ...new Set(refused.map((code) => codeText(code))),
    );
  }
  if (ended === "unreachable")
    words.push(i18n.t("The server is unreachable. The other sessions were not changed."));
  if (ended === "told") words.push(i18n.t("The other sessions were not changed."));
  return words.join(" ");
}

function doneWords(deed: Deed, { done, total }: Outcome): string {
  const values = { done, total };
  if (done < total) {
    switch (deed) {
      case "archive":
        return i18n.t("Archived {done} of {total} sessions.", values);
      case "put_back":
        return i18n.t("Restored {done} of {total} sessions.", values);
      case "move":
        return i18n.t("Moved {done} of {total} sessions.", values);
      case "tag":
        return i18n.t("Updated tags of {done} of {total} sessions.", values);
      case "trash":
        return i18n.t("Moved {done} of {total} sessions to trash.", values);
      case "erase":
        return i18n.t("Permanently deleted {done} of {total} sessions.", values);
    }
  }
  switch (deed) {
    case "archive":
      return i18n.t("{done, plural, one {Archived # session.} other {Archived # sessions.}}", values);
    case "put_back":
      return i18n.t("{done, plural, one {Restored # session.} other {Restored # sessions.}}", values);
    case "move":
      return i18n.t("{done, plural, one {Moved # session.} other {Moved # sessions.}}", values);
    case "tag":
      return i18n.t(
        "{done, plural, one {Updated tags of # session.} other {Updated tags of # sessions.}}",
        values,
      );
    case "trash":
      return i18n.t(
        "{done, plural, one {Moved # session to trash.} other {Moved # sessions to trash.}}",
        values,
      );
    case "erase":
      return i18n.t(
        "{done, plural, one {Permanently deleted # session.} other {Permanently deleted # sessions.}}",
        values,
      );
  }
}
