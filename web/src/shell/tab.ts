// What the browser's tab tells while another one is looked at: what this one shows, and whether something is going on.

import { useEffect } from "react";
import { useLocation } from "wouter";

import { nameOf, sessionIn } from "../commands/places";
import { goingAnywhere, goingIn, markOf, titleOf } from "./going";
import { sessionName } from "./names";
import { useKnown } from "./use";

export function useTab(): void {
  const [path] = useLocation();
  const session = sessionIn(path);
  const title = useKnown((known) => (session === undefined ? nameOf(path) : sessionName(known, session)));
  const going = useKnown((known) => (session === undefined ? "still" : goingIn(known, session)));
  const anywhere = useKnown(goingAnywhere);
  useEffect(() => {
    document.title = titleOf(title, going);
  }, [title, going]);
  useEffect(() => {
    document.querySelector("link[rel=icon]")?.setAttribute("href", markOf(anywhere));
  }, [anywhere]);
}
