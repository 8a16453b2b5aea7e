// What can be done with a turn. Nothing on the page changes by the click: the log says when it happened.

import { ChevronLeft, ChevronRight, Copy, GitBranch, Pencil, RefreshCw, Undo2 } from "lucide-react";
import { useLocation } from "wouter";

import { ask, Refused } from "../api/client";
import type { TurnView } from "../log/types";
import { announce } from "../shell/announce";
import { ui } from "../shell/ui";

interface ActProps {
  label: string;
  /** The key that does the same while the turn has the focus. */
  act?: string;
  disabled?: boolean;
  onClick: () => void;
  children: React.ReactNode;
}

function Act({ label, act, disabled = false, onClick, children }: ActProps) {
  const title = act === undefined ? label : `${label} (${act})`;
  return (
    <button
      type="button"
      className="icon"
      aria-label={label}
      title={title}
      data-act={act}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  );
}

/** Says why when it did not happen. */
function change(asked: Promise<unknown>): void {
  asked.catch((error: unknown) =>
    announce(error instanceof Refused ? error.detail : "Not done: the server cannot be reached."),
  );
}

function copy(text: string): void {
  void navigator.clipboard.writeText(text).then(() => announce("Copied."));
}

interface Props {
  turn: TurnView;
  session: string;
  newest: boolean;
}

export function SaidActions({ turn, session, newest }: Props) {
  return (
    <span className="acts">
      <Act
        label="Say it differently"
        act="E"
        onClick={() => ui.setState({ editing: { session, turn: turn.turn } })}
      >
        <Pencil aria-hidden="true" />
      </Act>
      {newest && (
        <Act
          label="Take back"
          onClick={() => change(ask("POST", `/sessions/${session}/undo`, { body: { from: turn.turn } }))}
        >
          <Undo2 aria-hidden="true" />
        </Act>
      )}
      <Act label="Copy message" onClick={() => copy(turn.message.text)}>
        <Copy aria-hidden="true" />
      </Act>
    </span>
  );
}

export function AnswerActions({ turn, session, newest, live }: Props & { live: boolean }) {
  const [, go] = useLocation();
  const text = () =>
    turn.answer?.parts.flatMap((part) => ("text" in part ? [part.text] : [])).join("\n\n") ?? "";
  const branch = async () => {
    const body = { turn: turn.turn };
    const made = await ask<{ session: string }>("POST", `/sessions/${session}/branch`, { body });
    go(`/s/${made.session}`);
  };
  return (
    <span className="acts">
      <Versions turn={turn} session={session} />
      {newest && !live && (
        <Act label="Retry" act="R" onClick={() => change(ask("POST", `/sessions/${session}/retry`))}>
          <RefreshCw aria-hidden="true" />
        </Act>
      )}
      {!live && (
        <Act label="Branch from here" act="B" onClick={() => change(branch())}>
          <GitBranch aria-hidden="true" />
        </Act>
      )}
      <Act label="Copy answer" act="Y" onClick={() => copy(text())}>
        <Copy aria-hidden="true" />
      </Act>
    </span>
  );
}

/** Earlier answers are kept; one of them is shown. */
function Versions({ turn, session }: { turn: TurnView; session: string }) {
  const answers = turn.alternatives;
  if (answers.length < 2) return null;
  const at = answers.indexOf(turn.answer?.run ?? answers.at(-1) ?? 0);
  const choose = (place: number) => {
    const run = answers[place];
    if (run === undefined) return;
    change(ask("PUT", `/sessions/${session}/turns/${turn.turn}/answer`, { body: { run } }));
  };
  return (
    <span className="ver">
      <Act label="Earlier answer" act="[" disabled={at <= 0} onClick={() => choose(at - 1)}>
        <ChevronLeft aria-hidden="true" />
      </Act>
      {at + 1} of {answers.length}
      <Act label="Later answer" act="]" disabled={at + 1 >= answers.length} onClick={() => choose(at + 1)}>
        <ChevronRight aria-hidden="true" />
      </Act>
    </span>
  );
}
