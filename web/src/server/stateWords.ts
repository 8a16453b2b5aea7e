// The state of the server in words.

import { i18n } from "@lingui/core";

import { spaceOf, whenLong } from "../shell/days";
import type { ServerFigures } from "./figures";

export function lastBackup({ last_backup }: ServerFigures): string {
  if (last_backup == null) return i18n.t("No backup was made yet.");
  const { at, about: place } = last_backup;
  return i18n.t("The last backup was made on {when} in {place}.", { when: whenLong(at), place });
}

export function lastVerify({ last_verify }: ServerFigures): string {
  if (last_verify == null) return i18n.t("The logs were not verified yet.");
  const { at, about: outcome } = last_verify;
  return i18n.t("The logs were last verified on {when}: {outcome}.", { when: whenLong(at), outcome });
}

/** What takes how much room. */
export function spaceWords({ storage, disk }: ServerFigures): [name: string, value: string][] {
  const rows: [string, string][] = [
    [i18n.t("Logs of sessions"), spaceOf(storage.logs_bytes)],
    [i18n.t("Words for search"), spaceOf(storage.search_bytes)],
    [i18n.t("Attachments"), spaceOf(storage.attachments_bytes)],
    [i18n.t("People and access"), spaceOf(storage.people_bytes)],
  ];
  if (disk == null) return rows;
  const free = i18n.t("{free} of {total}", {
    free: spaceOf(disk.free_bytes),
    total: spaceOf(disk.total_bytes),
  });
  return [...rows, [i18n.t("Free on the disk"), free]];
}

/** How the store stands: what is wrong first. */
export function storeWords({ store }: ServerFigures): { words: string; good: boolean }[] {
  const told: { words: string; good: boolean }[] = [];
  if (!store.writable) {
    told.push({
      words:
        store.problem === null
          ? i18n.t("Nothing can be kept at the moment. Everything written so far is safe.")
          : i18n.t("Nothing can be kept at the moment: {problem}. Everything written so far is safe.", {
              problem: store.problem,
            }),
      good: false,
    });
  }
  if (store.damaged > 0) {
    told.push({
      words: i18n.t(
        "{count, plural, one {# session has a part that cannot be read. The rest is intact.} other {# sessions have a part that cannot be read. The rest is intact.}}",
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
    told.push({ words: i18n.t("Search is being made anew; until then it finds less."), good: false });
  }
  if (told.length === 0) told.push({ words: i18n.t("Everything that is sent is kept."), good: true });
  return told;
}
