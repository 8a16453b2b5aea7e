// Continuing the newest answer, from the row below it and from the palette. Each ended run is continued by one request.

import { i18n } from "@lingui/core";
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { ask } from "../api/client";
import { store, type Known } from "../live/store";
import type { Marker, TurnView } from "../log/types";
import { turnView } from "../log/view";
import { attempt } from "../shell/attempt";

/** Returns the marker to continue from, if the newest answer ended early and no run is open. */
export function continuable(
  run: number | null | undefined,
  newest: TurnView | undefined,
): Marker | undefined {
  const marker = newest?.marker;
  return run != null || marker == null || marker.kind === "recovering" ? undefined : marker;
}

function continuableIn({ sessions }: Pick<Known, "sessions">, session: string): Marker | undefined {
  const state = sessions[session]?.state;
  const newest = state?.turns.at(-1);
  return newest === undefined ? undefined : continuable(state?.open_run, turnView(newest));
}

/** The ended run that each session was asked to continue. The log replaces it with a new run when the answer goes on. */
const asked = createStore<Record<string, number | undefined>>(() => ({}));

/** Whether a request to continue a run was sent and has not failed. */
export function isContinuing(session: string, run: number): boolean {
  return asked.getState()[session] === run;
}

export function useContinuing(session: string | undefined, run: number): boolean {
  return useStore(asked, (runs) => session !== undefined && runs[session] === run);
}

/** Continues the newest answer. Does nothing while it is running, complete, or already asked to continue. */
export async function continueAnswer(session: string): Promise<void> {
  const from = continuableIn(store.getState(), session);
  if (from === undefined || isContinuing(session, from.run)) return;
  asked.setState({ [session]: from.run });
  const continued = ask("POST", `/sessions/${session}/continue`);
  continued.catch(() => asked.setState({ [session]: undefined }));
  await attempt(
    i18n.t("Couldn't continue: the server is unreachable."),
    continued,
    (known) => continuableIn(known, session)?.run !== from.run,
  );
}
