// What can be done with a session in the list. Nothing moves by the click: the line that the server tells does it.

import { i18n } from "@lingui/core";

import { ask } from "../api/client";
import { announce } from "../shell/announce";
import { attempt } from "../shell/attempt";
import { hold, lineOf, lists, release } from "./lists";
import { shelfOf, type Line, type Shelf } from "./types";
import { expectOwn } from "./unread";

/** How long it is said in the place of a row what became of it. */
const SAID_FOR = 30_000;
/** Days that the trash is kept where the server does not say. */
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

/** The model reads a summary from now on; the conversation stays as it is. */
export function compact(session: string): void {
  const compacting = ask("POST", `/sessions/${session}/compact`).then(() =>
    announce(i18n.t("Context compacted. The conversation stays as it is.")),
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
  leave(line, i18n.t("Couldn't move the session to the trash: the server is unreachable."), {
    trashed: true,
  });
}

/** Out of the trash, or of the archive. */
export function putBack(line: Line): void {
  leave(
    line,
    i18n.t("Couldn't put the session back: the server is unreachable."),
    line.trashed ? { trashed: false } : { archived: false },
  );
}

/** Brings a session back to the shelf that it left. */
export function undo(line: Line, shelf: Shelf): void {
  const back: Change =
    shelf === "trash"
      ? { trashed: true }
      : line.trashed
        ? { trashed: false }
        : { archived: shelf === "archived" };
  void attempt(i18n.t("Couldn't undo: the server is unreachable."), change(line.session, back));
}

/** What became of a session that left the view, in the place of its row. */
export function leftWords(line: Line): string {
  switch (shelfOf(line)) {
    case "trash": {
      const days = trashDays();
      if (days === 0) return i18n.t("Moved to trash.");
      return i18n.t(
        "{days, plural, one {Moved to trash. Kept for # day.} other {Moved to trash. Kept for # days.}}",
        {
          days,
        },
      );
    }
    case "archived":
      return i18n.t("Archived.");
    default:
      return i18n.t("Put back.");
  }
}

/** How long the trash is kept; 0 is until it is erased by hand. */
export function trashDays(): number {
  return lists.getState().counts?.trash_days ?? TRASH_DAYS;
}

/** The row of a session that leaves keeps its place for a while, and says what became of it. */
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
    // Who stands on it may be about to take it back.
    const stands = document.activeElement?.closest<HTMLElement>("[data-session]")?.dataset["session"];
    if (stands === session) letGoLater(session);
    else release(session);
  }, SAID_FOR);
}
