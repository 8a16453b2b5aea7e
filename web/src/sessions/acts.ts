// Actions on a session in the list. The list changes only when the server sends the new line.

import { i18n } from "@lingui/core";

import { ask } from "../api/client";
import { announce } from "../shell/announce";
import { attempt } from "../shell/attempt";
import { hold, lineOf, lists, release } from "./lists";
import { shelfOf, type Line, type Shelf } from "./types";
import { expectOwn } from "./unread";

/** How long a message replaces the row of a session that left the view, in milliseconds. */
const SAID_FOR = 30_000;
/** Days until the trash is deleted, if the server does not report them. */
const TRASH_DAYS = 30;

export type Change =
  | { title: string }
  | { pinned: boolean }
  | { archived: boolean }
  | { trashed: boolean }
  | { tags: readonly string[] }
  | { project: string | null };

export function change(session: string, body: Change): Promise<unknown> {
  return ask("PATCH", `/sessions/${session}`, { body });
}

export async function rename(session: string, title: string): Promise<void> {
  const line = lineOf(session);
  const forget = line === undefined ? undefined : expectOwn(line);
  try {
    await change(session, { title });
  } catch (error) {
    forget?.();
    throw error;
  }
}

export function erase(session: string): Promise<unknown> {
  return ask("DELETE", `/sessions/${session}`);
}

/** Compacts the context: the model gets a summary; the transcript is unchanged. */
export function compact(session: string): void {
  const compacting = ask("POST", `/sessions/${session}/compact`).then(() =>
    announce(i18n.t("Context compacted. You still see the full text.")),
  );
  void attempt(i18n.t("Couldn't compact the context: the server is unreachable."), compacting);
}

export function pin(line: Line): void {
  const pinned = !line.pinned;
  void attempt(
    pinned
      ? i18n.t("Couldn't pin the session: the server is unreachable.")
      : i18n.t("Couldn't unpin the session: the server is unreachable."),
    change(line.session, { pinned }),
  );
}

export function archive(line: Line): void {
  leave(line, i18n.t("Couldn't archive the session: the server is unreachable."), { archived: true });
}

export function trash(line: Line): void {
  leave(line, i18n.t("Couldn't move the session to trash: the server is unreachable."), {
    trashed: true,
  });
}

/** Restores a session from the trash, or unarchives it. */
export function putBack(line: Line): void {
  leave(
    line,
    i18n.t("Couldn't restore the session: the server is unreachable."),
    line.trashed ? { trashed: false } : { archived: false },
  );
}

/** Moves a session back to the shelf that it left. */
export function undo(line: Line, shelf: Shelf): void {
  const back: Change =
    shelf === "trash"
      ? { trashed: true }
      : line.trashed
        ? { trashed: false }
        : { archived: shelf === "archived" };
  void attempt(i18n.t("Couldn't undo: the server is unreachable."), change(line.session, back));
}

/** Returns the message shown in place of the row of a session that left the view. */
export function leftWords(line: Line): string {
  switch (shelfOf(line)) {
    case "trash": {
      const days = trashDays();
      if (days === 0) return i18n.t("Moved to trash.");
      return i18n.t(
        "{days, plural, one {Moved to trash. Deleted permanently in # day.} other {Moved to trash. Deleted permanently in # days.}}",
        {
          days,
        },
      );
    }
    case "archived":
      return i18n.t("Archived.");
    default:
      return i18n.t("Restored.");
  }
}

/** Returns the days until the trash is deleted; 0 if it is only deleted by hand. */
export function trashDays(): number {
  return lists.getState().counts?.trash_days ?? TRASH_DAYS;
}

/** Removes a session from the view. Its row shows the outcome for a while. */
function leave(line: Line, failed: string, body: { archived: boolean } | { trashed: boolean }): void {
  const { session } = line;
  hold(session);
  const left = change(session, body).then(
    () => {
      announce(leftWords({ ...line, ...body }));
      letGoLater(session);
    },
    (error: unknown) => {
      release(session);
      throw error;
    },
  );
  void attempt(failed, left);
}

function letGoLater(session: string): void {
  setTimeout(() => {
    // The user may be about to press Undo in the focused row.
    const stands = document.activeElement?.closest<HTMLElement>("[data-session]")?.dataset["session"];
    if (stands === session) letGoLater(session);
    else release(session);
  }, SAID_FOR);
}
