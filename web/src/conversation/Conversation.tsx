import { ArrowLeft } from "lucide-react";
import { useEffect, useMemo, useState } from "react";
import { Link } from "wouter";

import { Composer } from "../composer/Composer";
import { follow } from "../live/store";
import type { TurnView, View } from "../log/types";
import { view as viewOf } from "../log/view";
import { announce } from "../shell/announce";
import { useKnown } from "../shell/use";
import { Strip } from "./Strip";
import { Thread } from "./Thread";
import { Title } from "./Title";
import { useEarlier } from "./earlier";

export function Conversation({ session }: { session: string }) {
  const known = useKnown(({ sessions }) => sessions[session]);
  const missing = useKnown(({ unknown }) => unknown[session]);
  useEffect(() => follow(session), [session]);
  const view = useMemo(() => (known === undefined ? undefined : viewOf(known.state)), [known]);
  const earlier = useEarlier(session, view);
  useAnnouncements(view);
  useTabTitle(view);
  if (missing !== undefined) {
    return (
      <div className="thread">
        <div className="col push hello">
          <h1>There is nothing here</h1>
          <p>{missing}</p>
        </div>
      </div>
    );
  }
  return (
    <>
      <header className="head">
        <Link href="/" className="icon only-p" aria-label="Back to sessions">
          <ArrowLeft aria-hidden="true" />
        </Link>
        <Title session={session} title={view?.title ?? null} />
      </header>
      <Strip />
      <Thread session={session} view={view} earlier={earlier} />
      <Composer session={session} view={view} />
    </>
  );
}

/** Events, never tokens. */
function useAnnouncements(view: View | undefined): void {
  const run = view?.run ?? null;
  const last = view?.turns.at(-1);
  const marker = last?.marker?.kind;
  const [before, setBefore] = useState<{ run: number | null; marker: string | undefined }>();
  useEffect(() => {
    if (view === undefined) return;
    setBefore({ run, marker });
    if (before === undefined) return;
    if (run !== null && before.run === null) announce("Agent is writing.");
    else if (run === null && before.run !== null && marker === undefined) announce(finished(last));
    if (marker === before.marker) return;
    if (marker === "stopped") announce("Stopped. Everything is kept.");
    if (marker === "recovering") announce("Interrupted. Recovering output.");
    if (marker === "recovered") announce("Recovered from the journal.");
  }, [run, marker, view === undefined]);
}

function finished(turn: TurnView | undefined): string {
  const texts = turn?.answer?.parts.flatMap((part) => ("text" in part ? [part.text] : [])) ?? [];
  const words = texts
    .join(" ")
    .split(/\s+/)
    .filter((word) => word !== "").length;
  return `Agent finished, ${words} words.`;
}

function useTabTitle(view: View | undefined): void {
  const title = view?.title ?? "New session";
  const state = view?.run == null ? "" : "Writing — ";
  useEffect(() => {
    document.title = `${state}${title}`;
    return () => {
      document.title = "Everturn";
    };
  }, [state, title]);
}
