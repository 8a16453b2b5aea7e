import { i18n } from "@lingui/core";
import { useEffect, useState } from "react";

import { proseOf, wordsIn } from "../log/prose";
import type { View } from "../log/types";
import { announce } from "../shell/announce";

/** What happens in a session, for who listens: events, never tokens. */
export function useAnnouncements(view: View | undefined): void {
  const run = view?.run ?? null;
  const last = view?.turns.at(-1);
  const marker = last?.marker?.kind;
  const [before, setBefore] = useState<{ run: number | null; marker: string | undefined }>();
  useEffect(() => {
    if (view === undefined) return;
    setBefore({ run, marker });
    if (before === undefined) return;
    if (run !== null && before.run === null) announce(i18n.t("Agent is writing."));
    else if (run === null && before.run !== null && marker === undefined) announce(finished(proseOf(last)));
    if (marker === before.marker) return;
    if (marker === "stopped") announce(i18n.t("Stopped. Everything is kept."));
    if (marker === "recovering") announce(i18n.t("Interrupted. Recovering output."));
    if (marker === "recovered") announce(i18n.t("Recovered from the journal."));
    if (marker === "output_limit") announce(i18n.t("Reached the output limit."));
  }, [run, marker, view === undefined]);
}

function finished(prose: string): string {
  const count = wordsIn(prose);
  return i18n.t("{count, plural, one {Agent finished, # word.} other {Agent finished, # words.}}", { count });
}
