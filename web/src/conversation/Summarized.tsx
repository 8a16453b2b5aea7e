// The line between the turns that the agent reads as a summary, above, and those that it reads in full, below.

import { i18n } from "@lingui/core";

import { useKnown } from "../shell/use";

export function Summarized({ session, turn }: { session: string; turn: number }) {
  const here = useKnown(({ sessions }) => sessions[session]?.state.summary?.through === turn);
  if (!here) return null;
  return (
    <p className="dim" data-summarized="">
      {i18n.t("The agent sees a summary of everything above. You still see the full text.")}
    </p>
  );
}
