// What the browser's tab tells while another one is looked at: what this one shows, and whether something is going on.

import { i18n } from "@lingui/core";
import { useEffect } from "react";
import { useLocation } from "wouter";

import { nameOf, sessionIn } from "../commands/places";
import type { Known } from "../live/store";
import { titleText } from "../log/title";
import { goingAnywhere, goingIn, markOf, titleOf } from "./going";
import { useKnown } from "./use";

function sessionTitle({ list, sessions }: Known, session: string): string | null | undefined {
  const title = sessions[session]?.state.title;
  if (title != null) return titleText(title);
  return list?.find((line) => line.session === session)?.title;
}

export function useTab(): void {
  const [path] = useLocation();
  const session = sessionIn(path);
  const title = useKnown((known) =>
    session === undefined ? nameOf(path) : (sessionTitle(known, session) ?? i18n.t("New session")),
  );
  const going = useKnown((known) => (session === undefined ? "still" : goingIn(known, session)));
  const anywhere = useKnown(goingAnywhere);
  useEffect(() => {
    document.title = titleOf(title, going);
  }, [title, going]);
  useEffect(() => {
    document.querySelector("link[rel=icon]")?.setAttribute("href", markOf(anywhere));
  }, [anywhere]);
}
