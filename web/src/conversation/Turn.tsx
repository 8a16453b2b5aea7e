// One turn: what was said, and all that answers it. The same component and the same nodes while it is live, stopped,
// recovered and settled; only its marker changes.

import {
  Brain,
  ChevronLeft,
  ChevronRight,
  Copy,
  FileText,
  GitBranch,
  RefreshCw,
  Terminal,
} from "lucide-react";
import { memo, useState } from "react";
import { useLocation } from "wouter";

import { ask } from "../api/client";
import type { Waiting } from "../live/outbox";
import { outbox } from "../live/store";
import type { Message, Part, TurnView } from "../log/types";
import { Markdown } from "../markdown/Markdown";
import { announce } from "../shell/announce";
import { useKnown, useSeconds } from "../shell/use";
import { clockOf, sizeOf, spanOf } from "../shell/words";
import { MarkerLine } from "./MarkerLine";

interface Props {
  turn: TurnView;
  session: string;
  newest: boolean;
  live: boolean;
  place: { "aria-posinset": number; "aria-setsize": number };
}

export const Turn = memo(
  function Turn({ turn, session, newest, live, place }: Props) {
    const away = useKnown(({ link }) => link.kind === "away");
    const parts = turn.answer?.parts ?? [];
    const agent = parts.length > 0 || turn.marker != null || live;
    const tip = live ? (away ? "away tip" : "live tip") : "";
    return (
      <article className="turn" {...place} aria-busy={live} data-turn={turn.turn}>
        <div className="e">
          <span className="knot" />
          <div className="who">
            <b>You</b>
            <time className="num">{clockOf(turn.posted_at)}</time>
            <SaidActions message={turn.message} />
          </div>
          <Said message={turn.message} />
        </div>
        {agent && (
          <div className={`e ${tip}`}>
            <span className={`knot ${live ? (away ? "away" : "live") : knotOf(turn)}`} />
            <div className="who">
              <b>Agent</b>
              {live && <Doing parts={parts} since={turn.posted_at} away={away} />}
              <AnswerActions turn={turn} session={session} newest={newest} live={live} />
            </div>
            <Parts parts={parts} live={live} />
            {turn.marker != null && <MarkerLine marker={turn.marker} session={session} newest={newest} />}
          </div>
        )}
      </article>
    );
  },
  (one, other) =>
    one.turn === other.turn &&
    one.live === other.live &&
    one.newest === other.newest &&
    one.place["aria-setsize"] === other.place["aria-setsize"] &&
    one.place["aria-posinset"] === other.place["aria-posinset"],
);

function knotOf(turn: TurnView): string {
  switch (turn.marker?.kind) {
    case "stopped":
    case "interrupted":
    case "failed":
      return "halt";
    case "recovering":
      return "rec";
    default:
      return "agent";
  }
}

function Said({ message }: { message: Message }) {
  return (
    <div className="said">
      <div className="words">{message.text}</div>
      {(message.attachments ?? []).length > 0 && (
        <div className="files">
          {message.attachments?.map((file) => (
            <a
              key={file.blob}
              className="file"
              href={`/api/v1/attachments/${file.blob}`}
              download={file.name}
            >
              <span className="th">
                <FileText aria-hidden="true" />
              </span>
              {file.name} <span className="dim">{sizeOf(file.size_bytes)}</span>
            </a>
          ))}
        </div>
      )}
    </div>
  );
}

function Doing({ parts, since, away }: { parts: readonly Part[]; since: number; away: boolean }) {
  const now = useSeconds(true);
  const last = parts.at(-1);
  const running = last !== undefined && "call" in last;
  const word = running
    ? `Running ${last.call.tool}`
    : last === undefined || "reasoning" in last
      ? "Thinking"
      : "Writing";
  return (
    <>
      <span className={away ? "t" : "k"}>{away ? "Writing on the server" : word}</span>
      <span className="num">{spanOf(now - since / 1_000)}</span>
    </>
  );
}

/** What the agent said and did, in the order in which it happened. */
function Parts({ parts, live }: { parts: readonly Part[]; live: boolean }) {
  return (
    <div className="parts">
      {parts.map((part, at) => (
        <OnePart key={at} part={part} last={live && at === parts.length - 1} />
      ))}
      {live && <span className="caret" aria-hidden="true" />}
    </div>
  );
}

const OnePart = memo(function OnePart({ part, last }: { part: Part; last: boolean }) {
  if ("text" in part) return <Markdown text={part.text} />;
  if ("reasoning" in part) {
    return (
      <Row icon={<Brain aria-hidden="true" />} label={last ? "Reasoning" : "Thought"}>
        <div className="words">{part.reasoning}</div>
      </Row>
    );
  }
  if ("steered" in part) {
    return (
      <div className="steered">
        <div className="who">
          <b>You</b> steered the agent here
        </div>
        <Said message={part.steered.message} />
      </div>
    );
  }
  if ("marker" in part) return <MarkerLine marker={part.marker} />;
  const { tool, arguments: given, state, result } = part.call;
  const verb = {
    incomplete: "Was going to run",
    running: "Running",
    may_have_run: "Was running",
    finished: "Ran",
    failed: "Ran",
  }[state];
  return (
    <Row
      icon={<Terminal aria-hidden="true" />}
      label={verb}
      code={tool}
      note={
        state === "failed" ? (
          <span className="bad">failed</span>
        ) : state === "running" ? (
          <i className="spin" />
        ) : null
      }
    >
      <pre tabIndex={0}>{given}</pre>
      {result != null && <pre tabIndex={0}>{result}</pre>}
    </Row>
  );
});

interface RowProps {
  icon: React.ReactNode;
  label: string;
  code?: string;
  note?: React.ReactNode;
  children: React.ReactNode;
}

function Row({ icon, label, code, note, children }: RowProps) {
  const [open, setOpen] = useState(false);
  return (
    <div className="trace">
      <button type="button" className="row" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight className="chev" aria-hidden="true" />
        {icon}
        {label}
        {code !== undefined && <span className="mono clip">{code}</span>}
        {note != null && <span className="r">{note}</span>}
      </button>
      {/* Kept in the page while it is closed: what was shown once never shrinks. */}
      <div className="open" hidden={!open}>
        {children}
      </div>
    </div>
  );
}

function copy(text: string): void {
  void navigator.clipboard.writeText(text).then(() => announce("Copied."));
}

function SaidActions({ message }: { message: Message }) {
  return (
    <span className="acts">
      <button type="button" className="icon" aria-label="Copy message" onClick={() => copy(message.text)}>
        <Copy aria-hidden="true" />
      </button>
    </span>
  );
}

function AnswerActions({ turn, session, newest, live }: Omit<Props, "place">) {
  const [, go] = useLocation();
  const text = () =>
    turn.answer?.parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n\n") ?? "";
  const answers = turn.alternatives;
  const at = answers.indexOf(turn.answer?.run ?? answers.at(-1) ?? 0);
  const choose = (place: number) => {
    const run = answers[place];
    if (run !== undefined)
      void ask("PUT", `/sessions/${session}/turns/${turn.turn}/answer`, { body: { run } });
  };
  const branch = async () => {
    const made = await ask<{ session: string }>("POST", `/sessions/${session}/branch`, {
      body: { turn: turn.turn },
    });
    go(`/s/${made.session}`);
  };
  return (
    <span className="acts">
      {answers.length > 1 && (
        <span className="ver">
          <button
            type="button"
            className="icon"
            aria-label="Earlier answer"
            disabled={at <= 0}
            onClick={() => choose(at - 1)}
          >
            <ChevronLeft aria-hidden="true" />
          </button>
          {at + 1} of {answers.length}
          <button
            type="button"
            className="icon"
            aria-label="Later answer"
            disabled={at + 1 >= answers.length}
            onClick={() => choose(at + 1)}
          >
            <ChevronRight aria-hidden="true" />
          </button>
        </span>
      )}
      {newest && !live && (
        <button
          type="button"
          className="icon"
          aria-label="Retry"
          onClick={() => void ask("POST", `/sessions/${session}/retry`)}
        >
          <RefreshCw aria-hidden="true" />
        </button>
      )}
      {!live && (
        <button type="button" className="icon" aria-label="Branch from here" onClick={() => void branch()}>
          <GitBranch aria-hidden="true" />
        </button>
      )}
      <button type="button" className="icon" aria-label="Copy answer" onClick={() => copy(text())}>
        <Copy aria-hidden="true" />
      </button>
    </span>
  );
}

/** A message that is on this device and not known to be on the server. */
export function WaitingTurn({ message }: { message: Waiting }) {
  const now = useSeconds(true);
  const slow = now - message.at > 300;
  const away = useKnown(({ link }) => link.kind !== "open");
  return (
    <article className="turn" aria-label="Not sent yet">
      <div className="e">
        <span className="knot" />
        <div className="who">
          <b>You</b>
          {message.refused !== undefined ? (
            <span className="bad">Not sent: {message.refused}</span>
          ) : away ? (
            <span>Not sent yet. Kept on this device. It goes out when the server is back.</span>
          ) : (
            slow && <span>Saving…</span>
          )}
          {message.refused !== undefined && (
            <button type="button" className="btn sm ghost" onClick={() => outbox.discard(message.key)}>
              Discard
            </button>
          )}
        </div>
        <div className="said wait">
          <div className="words">{message.text}</div>
        </div>
      </div>
    </article>
  );
}
