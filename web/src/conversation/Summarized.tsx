// The line below which the agent reads the session in full; above it, it reads a summary.

import { i18n } from "@lingui/core";

import { useKnown } from "../shell/use";

export function Summarized({ session, turn }: { session: string; turn: number }) {
  const here = useKnown(({ sessions }) => sessions[session]?.state.summary?.through === turn);
  if (!here) return null;
  return (
    <p className="dim" data-summarized="">
      {i18n.t("From here up, the agent reads a summary. You keep the full text.")}
    </p>
  );
}
