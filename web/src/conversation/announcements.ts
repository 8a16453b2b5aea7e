import { i18n } from "@lingui/core";
import { useEffect, useEffectEvent, useRef } from "react";

import { proseOf, wordsIn } from "../log/prose";
import type { Marker, View } from "../log/types";
import { announce } from "../shell/announce";
import { endOf } from "./ends";

/** The state of a session, as announced to screen readers. */
export interface Heard {
  run: number | null;
  marker: Marker | undefined;
  /** The latest run so far; an earlier one whose end comes back into sight, as after an undo, is no news. */
  latest: number;
}

/** Announces events of a session to screen readers; never streamed text. */
export function useAnnouncements(view: View | undefined): void {
  const run = view?.run ?? null;
  const last = view?.turns.at(-1);
  const marker = last?.marker ?? undefined;
  const before = useRef<Heard>(undefined);
  const hear = useEffectEvent(() => {
    if (view === undefined) return;
    const known = before.current;
    const latest = Math.max(known?.latest ?? 0, run ?? 0, marker?.run ?? 0, ...(last?.alternatives ?? []));
    const now = { run, marker, latest };
    before.current = now;
    const text = known === undefined ? undefined : changeWords(known, now, proseOf(last));
    if (text !== undefined) announce(text, "answer");
  });
  const [ended, kind, isOpen] = [marker?.run, marker?.kind, view !== undefined];
  useEffect(() => hear(), [run, ended, kind, isOpen]);
}

/** Returns the news since `before`, if there is any. */
export function changeWords(before: Heard, { run, marker }: Heard, prose: string): string | undefined {
  if (run === null && marker !== undefined && isNews(before, marker)) return markerWords(marker);
  if (run !== null && before.run === null) return i18n.t("Agent is writing.");
  if (run === null && before.run !== null && marker === undefined) return finished(prose);
  return undefined;
}

function isNews(before: Heard, { run, kind }: Marker): boolean {
  if (run === before.marker?.run) return kind !== before.marker.kind;
  return run === before.run || run > before.latest;
}

function markerWords(marker: Marker): string {
  switch (marker.kind) {
    case "stopped":
      return i18n.t("Stopped. Everything is kept.");
    case "recovering":
      return i18n.t("Interrupted. Recovering output.");
    case "recovered":
      return i18n.t("The output was recovered.");
    case "output_limit":
      return i18n.t("Reached the output limit.");
    case "failed":
      return i18n.t("The answer couldn't be finished. Your message is saved.");
    default:
      return endOf(marker);
  }
}

function finished(prose: string): string {
  const count = wordsIn(prose);
  return i18n.t("{count, plural, one {Agent finished, # word.} other {Agent finished, # words.}}", { count });
}
