// Disconnects the page or ends the run as a crash would, in a scratch session, and counts the words kept.

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
/** How long an answer may take to resume before the page asks for Continue. */
const HEALING = 5_000;

/** The action, and the answer at that moment. */
interface Blow {
  kind: "cut" | "broken";
  before: string;
  /** The affected run. */
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
    // The next run may start a moment after the affected one ended.
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
    doing.run(i18n.t("Couldn't crash the answer: the server is unreachable."), async () => {
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
          {i18n.t("Disconnect this page for 10 s")}
        </button>
        <button
          type="button"
          className="btn sm"
          disabled={!writing || busy}
          onClick={() => void breakAnswer()}
        >
          {i18n.t("Crash the answer")}
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
    return i18n.t(
      "Disconnected. The agent keeps writing on the server. Watch the line under the header, then the text.",
    );
  if (blow?.kind === "broken")
    return i18n.t(
      "Crashed. Watch the last word: the answer continues there, and a diamond in the margin says why it was interrupted.",
    );
  return writing
    ? i18n.t("Try to make the answer lose a word. Only this session is affected, never the server.")
    : i18n.t("These buttons work while the agent is writing.");
}

/** Returns the outcome once it is known: more was written, or no more follows. */
function howItWent({ kind, before, run: hit }: Blow, prose: string, run: number | null, marked: boolean) {
  const hitGoesOn = run === hit;
  const more = prose.length > before.length;
  // After a crash the outcome is known once another run writes, after a disconnection once more text arrives.
  if (kind === "broken" ? hitGoesOn || (run !== null && !more) : hitGoesOn && !more) return undefined;
  const count = wordsIn(before);
  const kept = wordsKept(before, prose);
  if (run !== null)
    return i18n.t("Back. {count} words before, {kept} of them still here. The agent keeps writing.", {
      count,
      kept,
    });
  return marked
    ? i18n.t("Back. {count} words before, {kept} of them still here. Press Continue to resume.", {
        count,
        kept,
      })
    : i18n.t("Back. {count} words before, {kept} of them still here. The answer is complete.", {
        count,
        kept,
      });
}
