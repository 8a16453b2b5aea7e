// What a search found, by session.

import type { Schemas } from "../api/client";

/** A stretch of text around the words that were looked for; those themselves are hits. */
export type Stretch = Schemas["Stretch"];
export type Hit = Schemas["FoundBody"];

export interface Found {
  session: string;
  title: string | null | undefined;
  archived: boolean;
  trashed: boolean;
  /** The title, when it has the words. */
  titleHit: Stretch[] | undefined;
  /** Messages and answers with the words, newest first. */
  turns: Hit[];
}

/** Hits by session, in the order in which the first of each came. */
export function bySession(hits: readonly Hit[]): Found[] {
  const found = new Map<string, Found>();
  for (const hit of hits) {
    const { session, title, archived, trashed } = hit;
    const known: Found = found.get(session) ?? {
      session,
      title,
      archived,
      trashed,
      titleHit: undefined,
      turns: [],
    };
    found.set(session, known);
    if (hit.turn == null) known.titleHit ??= hit.excerpt;
    // A message or an answer that is told twice is one place to go to.
    else if (!known.turns.some(({ turn, run }) => turn === hit.turn && run === hit.run))
      known.turns.push(hit);
  }
  return [...found.values()];
}

export interface Filters {
  where: "" | "active" | "archived" | "trash";
  project: string;
  tag: string;
  saidBy: "" | "person" | "agent";
  /** Days back from now. */
  days: "" | "1" | "7" | "30" | "365";
}

export const NO_FILTERS: Filters = { where: "", project: "", tag: "", saidBy: "", days: "" };

export function isNarrowed(filters: Filters): boolean {
  return Object.values(filters).some((value) => value !== "");
}

const DAY_MICROS = 24 * 60 * 60 * 1_000_000;

/** The search as the server is asked for it. */
export function searchOf(words: string, filters: Filters, count: number, now: number): URLSearchParams {
  const { where, project, tag, saidBy, days } = filters;
  const query = new URLSearchParams({ words, count: String(count) });
  if (where !== "") query.set("shelf", where);
  if (project !== "") query.set("project", project);
  if (tag !== "") query.set("tag", tag);
  if (saidBy !== "") query.set("said_by", saidBy);
  if (days !== "") query.set("from", String(now * 1_000 - Number(days) * DAY_MICROS));
  return query;
}
