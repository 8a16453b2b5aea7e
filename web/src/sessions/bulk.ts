// Something is done with many sessions, one after another, and what became of it is said as it is.

import { i18n } from "@lingui/core";

import { Refused } from "../api/client";

export type Deed = "archive" | "put_back" | "move" | "tag" | "trash" | "erase";

export interface Outcome {
  done: number;
  total: number;
  /** Why some were refused, one for each. */
  refused: string[];
  /** Why it ended before the last one. */
  ended?: "unreachable" | "told";
}

/**
 * Does it with one after another. What the server refuses is passed over; when it cannot be reached, or the person says
 * so, the rest stays as it is.
 */
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
      outcome = { ...outcome, refused: [...outcome.refused, error.detail] };
      tell(outcome, item);
    }
  }
  return outcome;
}

/** What goes on: 3 of 14. */
export function progressWords(deed: Deed, { done, total, refused }: Outcome): string {
  const values = { done: done + refused.length, total };
  switch (deed) {
    case "archive":
      return i18n.t("Archiving, {done} of {total}", values);
    case "put_back":
      return i18n.t("Putting back, {done} of {total}", values);
    case "move":
      return i18n.t("Moving, {done} of {total}", values);
    case "tag":
      return i18n.t("Changing tags, {done} of {total}", values);
    case "trash":
      return i18n.t("Moving to the trash, {done} of {total}", values);
    case "erase":
      return i18n.t("Erasing, {done} of {total}", values);
  }
}

/** How it ended: how many, how many not, and why. */
export function outcomeWords(deed: Deed, outcome: Outcome): string {
  const { refused, ended } = outcome;
  const words = [doneWords(deed, outcome)];
  if (refused.length > 0) {
    const why = [...new Set(refused)].join(" ");
    words.push(
      i18n.t("{count, plural, one {# was refused: {why}} other {# were refused: {why}}}", {
        count: refused.length,
        why,
      }),
    );
  }
  if (ended === "unreachable") words.push(i18n.t("The server cannot be reached. The rest is as it was."));
  if (ended === "told") words.push(i18n.t("The rest is as it was."));
  return words.join(" ");
}

function doneWords(deed: Deed, { done, total }: Outcome): string {
  const values = { done, total };
  if (done < total) {
    switch (deed) {
      case "archive":
        return i18n.t("{done} of {total} archived.", values);
      case "put_back":
        return i18n.t("{done} of {total} put back.", values);
      case "move":
        return i18n.t("{done} of {total} moved.", values);
      case "tag":
        return i18n.t("Tags of {done} of {total} changed.", values);
      case "trash":
        return i18n.t("{done} of {total} moved to trash.", values);
      case "erase":
        return i18n.t("{done} of {total} erased.", values);
    }
  }
  switch (deed) {
    case "archive":
      return i18n.t("{done, plural, one {# session archived.} other {# sessions archived.}}", values);
    case "put_back":
      return i18n.t("{done, plural, one {# session put back.} other {# sessions put back.}}", values);
    case "move":
      return i18n.t("{done, plural, one {# session moved.} other {# sessions moved.}}", values);
    case "tag":
      return i18n.t(
        "{done, plural, one {Tags of # session changed.} other {Tags of # sessions changed.}}",
        values,
      );
    case "trash":
      return i18n.t(
        "{done, plural, one {# session moved to trash.} other {# sessions moved to trash.}}",
        values,
      );
    case "erase":
      return i18n.t("{done, plural, one {# session erased.} other {# sessions erased.}}", values);
  }
}
