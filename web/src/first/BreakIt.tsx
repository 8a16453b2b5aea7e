// In a scratch session: cut the page off, or end the run as a crash would, and count the words.

import { i18n } from "@lingui/core";
import { useEffect, useState } from "react";

import { ask } from "../api/client";
import { cutFor } from "../live/store";
import { proseOf, wordsIn } from "../log/prose";
import type { View } from "../log/types";
import { announce } from "../shell/announce";
import { Problem, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";
import { wordsKept } from "./kept";
import { askForStory } from "./scratch";
import "../styles/settings.css";

const CUT = 10_000;
/** How long an answer may take to be taken up again before it is said that it waits for a person. */
const HEALING = 5_000;

/** What was done, and what the answer said then. */
interface Blow {
  kind: "cut" | "broken";
  before: string;
  /** The run that it hit. */
  run: number | null;
}

interface Props {
  session: string;
  view: View;
}

export default function BreakIt({ session, view }: Props) {
  const doing = useDoing();
  const open = useKnown(({ link }) => link.kind === "open");
  const [blow, setBlow] = useState<Blow>();
  const [went, setWent] = useState<string>();
  const turn = view.turns.at(-1);
  const prose = proseOf(turn);
  const run = view.run ?? null;
  const writing = run !== null && prose !== "";
  useEffect(() => {
    const told = blow === undefined || !open ? undefined : howItWent(blow, prose, run, turn?.marker != null);
    if (told === undefined) return;
    const tell = () => {
      setBlow(undefined);
      setWent(told);
      announce(told);
    };
    // Between the end of the run that was hit and the next one there may be a moment.
    const timer = setTimeout(tell, run === null && blow?.kind === "broken" ? HEALING : 0);
    return () => clearTimeout(timer);
  }, [blow, open, prose, run, turn?.marker]);
  const strike = (kind: Blow["kind"]) => {
    setWent(undefined);
    setBlow({ kind, before: prose, run });
  };
  const cut = () => {
    cutFor(CUT);
    strike("cut");
  };
  const breakAnswer = () =>
    doing.run(i18n.t("Couldn't break the answer: the server is unreachable."), async () => {
      await ask("POST", `/sessions/${session}/break`);
      strike("broken");
    });
  const busy = blow !== undefined || doing.busy;
  return (
    <section className="break" aria-labelledby="break">
      <h2 id="break">{i18n.t("Try to break it")}</h2>
      <p>{watchFor(blow, writing)}</p>
      <div className="do">
        <button type="button" className="btn sm" disabled={!writing || busy} onClick={cut}>
          {i18n.t("Cut this page's connection for 10 s")}
        </button>
        <button
          type="button"
          className="btn sm"
          disabled={!writing || busy}
          onClick={() => void breakAnswer()}
        >
          {i18n.t("Break the answer")}
        </button>
        {run === null && (
          <button type="button" className="btn sm" onClick={() => askForStory(session)}>
            {i18n.t("Ask for another story")}
          </button>
        )}
      </div>
      {went !== undefined && <p className="good">{went}</p>}
      <Problem of={doing} />
    </section>
  );
}

function watchFor(blow: Blow | undefined, writing: boolean): string {
  if (blow?.kind === "cut")
    return i18n.t("Cut. The agent writes on at the server; watch the line under the header, then the text.");
  if (blow?.kind === "broken")
    return i18n.t(
      "Broken, as by a crash. Watch the last word: the answer continues there, and a diamond in the margin says why it was interrupted.",
    );
  return writing
    ? i18n.t(
        "Watch the last word of the answer, and do your worst. Only this session can be broken, never the server.",
      )
    : i18n.t("When the agent writes, you can cut it off here.");
}

/** How it went, once that can be told: more was written, or nothing more comes. */
function howItWent({ kind, before, run: hit }: Blow, prose: string, run: number | null, marked: boolean) {
  const hitGoesOn = run === hit;
  const more = prose.length > before.length;
  // A broken answer is told of when another run has taken it up; a page that was cut off, when the text goes on.
  if (kind === "broken" ? hitGoesOn || (run !== null && !more) : hitGoesOn && !more) return undefined;
  const count = wordsIn(before);
  const kept = wordsKept(before, prose);
  if (run !== null)
    return i18n.t("Back. {count} words before, {kept} after, and it goes on.", { count, kept });
  return marked
    ? i18n.t("Back. {count} words before, {kept} after. Press Continue, and it goes on.", { count, kept })
    : i18n.t("Back. {count} words before, {kept} after, and it is complete.", { count, kept });
}
