// Sentences about the state of the server.

import { i18n } from "@lingui/core";

import { spaceOf, whenLong } from "../shell/days";
import type { ServerFigures } from "./figures";

/** The result of a verification, as the audit log states it. */
const OUTCOME = /^(\d+) sessions, (\d+) troubles$/;

export function lastBackup({ last_backup }: ServerFigures): string {
  if (last_backup == null) return i18n.t("No backup yet.");
  const { at, about: place } = last_backup;
  return i18n.t("Last backup: {when}, in {place}.", { when: whenLong(at), place });
}

export function lastVerify({ last_verify }: ServerFigures): string {
  if (last_verify == null) return i18n.t("The session logs haven't been verified yet.");
  const { at, about: outcome } = last_verify;
  const when = whenLong(at);
  const [, sessions, problems] = OUTCOME.exec(outcome) ?? [];
  if (sessions === undefined || problems === undefined) {
    return i18n.t("Last verified: {when} ({outcome}).", { when, outcome });
  }
  if (problems === "0") {
    return i18n.t("Last verified: {when}. Sessions checked: {sessions}. No problems found.", {
      when,
      sessions,
    });
  }
  return i18n.t("Last verified: {when}. Sessions checked: {sessions}. Problems found: {problems}.", {
    when,
    sessions,
    problems,
  });
}

/** Returns the storage use by kind, and the free disk space. */
export function spaceWords({ storage, disk }: ServerFigures): [name: string, value: string][] {
  const rows: [string, string][] = [
    [i18n.t("Session logs"), spaceOf(storage.logs_bytes)],
    [i18n.t("Search index"), spaceOf(storage.search_bytes)],
    [i18n.t("Attachments"), spaceOf(storage.attachments_bytes)],
    [i18n.t("Users and settings"), spaceOf(storage.people_bytes)],
  ];
  if (disk == null) return rows;
  const free = i18n.t("{free} of {total}", {
    free: spaceOf(disk.free_bytes),
    total: spaceOf(disk.total_bytes),
  });
  return [...rows, [i18n.t("Free disk space"), free]];
}

/** Returns the problems of the store, or one sentence if there are none. */
export function storeWords({ store }: ServerFigures): { words: string; good: boolean }[] {
  const told: { words: string; good: boolean }[] = [];
  if (!store.writable) {
    told.push({
      words:
        store.problem === null
          ? i18n.t("The server can't save right now. Everything written so far is safe.")
          : i18n.t("The server can't save right now. Everything written so far is safe. Reason: {problem}", {
              problem: store.problem,
            }),
      good: false,
    });
  }
  if (store.damaged > 0) {
    told.push({
      words: i18n.t(
        "{count, plural, one {# session is partly unreadable. The rest of it is intact.} other {# sessions are partly unreadable. The rest of each is intact.}}",
        { count: store.damaged },
      ),
      good: false,
    });
  }
  if (store.malformed != null) {
    told.push({
      words: i18n.t("The database is damaged: {damage}. Stop the server and restore a backup.", {
        damage: store.malformed,
      }),
      good: false,
    });
  }
  if (!store.search_works) {
    told.push({
      words: i18n.t("The search index is being rebuilt. Results may be incomplete."),
      good: false,
    });
  }
  if (told.length === 0) told.push({ words: i18n.t("Everything is being saved."), good: true });
  return told;
}
