// Hidden turns (undone, edited or cleared), read from the log on demand.

import { i18n } from "@lingui/core";
import { useEffect, useState } from "react";
import { Link } from "wouter";

import { history, NOTHING, type Hidden } from "../log/history";
import { proseOf } from "../log/prose";
import type { Entry, TurnView } from "../log/types";
import { Drawer } from "../shell/Drawer";
import { clockOf } from "../shell/words";
import { putBack } from "./undo";

function howOf({ how, at }: Hidden): string {
  const time = clockOf(at);
  switch (how) {
    case "undone":
      return i18n.t("Undone at {time}", { time });
    case "edited":
      return i18n.t("Edited at {time}", { time });
    case "cleared":
      return i18n.t("Cleared at {time}", { time });
  }
}

/** Reads a session's log to its end. Calls `tell` with the number of entries so far. */
async function read(session: string, tell: (count: number) => void, signal: AbortSignal): Promise<Hidden[]> {
  const response = await fetch(`/api/v1/sessions/${session}/events?after=0`, { signal });
  if (!response.ok || response.body === null) throw new Error("the log cannot be read");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let known = NOTHING;
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) throw new Error("the log was cut");
    const frames = (rest + value).split("\n\n");
    rest = frames.pop() ?? "";
    const entries = frames
      .filter((frame) => frame.startsWith("event: entry\n"))
      .map((frame) => JSON.parse(frame.slice(frame.indexOf("\ndata: ") + 7)) as Entry);
    known = history(known, entries);
    tell(known.state.link.seq);
    if (frames.some((frame) => frame.startsWith("event: caught_up\n"))) {
      void reader.cancel();
      return known.hidden.toReversed();
    }
  }
}

interface Props {
  session: string;
  canPutBack: boolean;
  close: () => void;
}

export default function History({ session, canPutBack, close }: Props) {
  const [hidden, setHidden] = useState<Hidden[]>();
  const [count, setCount] = useState(0);
  const [problem, setProblem] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    read(session, setCount, stop.signal)
      .then(setHidden)
      .catch(() => stop.signal.aborted || setProblem(true));
    return () => stop.abort();
  }, [session]);
  return (
    <Drawer title={i18n.t("History")} closed={close}>
      <p>
        <Link href={`/s/${session}/timeline`}>{i18n.t("Show all events in the timeline")}</Link>
      </p>
      {problem && (
        <p role="alert">
          {i18n.t("Couldn't load the history. Nothing was changed; close this and try again.")}
        </p>
      )}
      {hidden === undefined && !problem && (
        <p className="dim num">
          {i18n.t("{count, plural, one {Loading history… # entry} other {Loading history… # entries}}", {
            count,
          })}
        </p>
      )}
      {hidden?.length === 0 && (
        <p className="dim">{i18n.t("No turns have been undone, edited or cleared.")}</p>
      )}
      {hidden?.map((group, at) => (
        <section key={group.at} className="gone">
          <h3>
            {howOf(group)}
            {at === 0 && canPutBack && (
              <button type="button" className="btn sm" onClick={() => void putBack(session).then(close)}>
                {i18n.t("Redo")}
              </button>
            )}
          </h3>
          {group.turns.map((turn) => (
            <Gone key={turn.turn} turn={turn} />
          ))}
        </section>
      ))}
    </Drawer>
  );
}

function Gone({ turn }: { turn: TurnView }) {
  const answer = proseOf(turn);
  return (
    <article>
      <p className="words said" dir="auto">
        {turn.message.text}
      </p>
      {answer !== "" && (
        <p className="words" dir="auto">
          {answer}
        </p>
      )}
    </article>
  );
}
