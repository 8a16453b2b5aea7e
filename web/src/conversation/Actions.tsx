// Actions on a turn. The page changes only when the log does.

import { i18n } from "@lingui/core";
import { ChevronLeft, ChevronRight, Copy, GitBranch, Pencil, RefreshCw, Undo2 } from "lucide-react";
import { useLocation } from "wouter";

import { ask } from "../api/client";
import { proseOf } from "../log/prose";
import type { TurnView } from "../log/types";
import { attempt } from "../shell/attempt";
import { copyOrNotify } from "../shell/copy";
import { toComposer } from "../shell/regions";
import { ui } from "../shell/ui";
import { takeBack } from "./undo";

interface ActProps {
  label: string;
  /** The equivalent key while the turn has the focus. */
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

interface Props {
  turn: TurnView;
  session: string;
  newest: boolean;
}

export function SaidActions({ turn, session, newest }: Props) {
  return (
    <span className="acts">
      <Act
        label={i18n.t("Edit message")}
        act="E"
        onClick={() => ui.setState({ editing: { session, turn: turn.turn } })}
      >
        <Pencil aria-hidden="true" />
      </Act>
      {newest && (
        <Act label={i18n.t("Undo turn")} onClick={() => takeBack(session, turn.turn)}>
          <Undo2 aria-hidden="true" />
        </Act>
      )}
      <Act label={i18n.t("Copy message")} onClick={() => void copyOrNotify(turn.message.text)}>
        <Copy aria-hidden="true" />
      </Act>
    </span>
  );
}

export function AnswerActions({ turn, session, newest, live }: Props & { live: boolean }) {
  const [, go] = useLocation();
  const branch = async () => {
    const body = { turn: turn.turn };
    const made = await ask<{ session: string }>("POST", `/sessions/${session}/branch`, { body });
    go(`/s/${made.session}`);
  };
  return (
    <span className="acts">
      <Versions turn={turn} session={session} />
      {newest && !live && (
        <Act
          label={i18n.t("Retry")}
          act="R"
          onClick={() => {
            toComposer();
            void attempt(
              i18n.t("Couldn't retry: the server is unreachable."),
              ask("POST", `/sessions/${session}/retry`),
            );
          }}
        >
          <RefreshCw aria-hidden="true" />
        </Act>
      )}
      {!live && (
        <Act
          label={i18n.t("Branch from here")}
          act="B"
          onClick={() =>
            void attempt(i18n.t("Couldn't create the branch: the server is unreachable."), branch())
          }
        >
          <GitBranch aria-hidden="true" />
        </Act>
      )}
      <Act label={i18n.t("Copy answer")} act="Y" onClick={() => void copyOrNotify(proseOf(turn))}>
        <Copy aria-hidden="true" />
      </Act>
    </span>
  );
}

/** Switches between the answers of a turn. */
function Versions({ turn, session }: { turn: TurnView; session: string }) {
  const answers = turn.alternatives;
  if (answers.length < 2) return null;
  const at = answers.indexOf(turn.answer?.run ?? answers.at(-1) ?? 0);
  const choose = (place: number) => {
    const run = answers[place];
    if (run === undefined) return;
    const path = `/sessions/${session}/turns/${turn.turn}/answer`;
    void attempt(
      i18n.t("Couldn't switch the answer: the server is unreachable."),
      ask("PUT", path, { body: { run } }),
    );
  };
  return (
    <span className="ver">
      <Act label={i18n.t("Previous answer")} act="[" disabled={at <= 0} onClick={() => choose(at - 1)}>
        <ChevronLeft aria-hidden="true" />
      </Act>
      {i18n.t("{at} of {count}", { at: at + 1, count: answers.length })}
      <Act
        label={i18n.t("Next answer")}
        act="]"
        disabled={at + 1 >= answers.length}
        onClick={() => choose(at + 1)}
      >
        <ChevronRight aria-hidden="true" />
      </Act>
    </span>
  );
}
