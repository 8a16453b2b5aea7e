// One turn: what was said, and all that answers it. The same component and the same nodes while it is live, stopped,
// recovered and settled; only its marker changes.

import { i18n } from "@lingui/core";
import { memo } from "react";

import type { Waiting } from "../live/outbox";
import { outbox } from "../live/store";
import type { Message, Part, TurnView } from "../log/types";
import { useUi } from "../shell/ui";
import { useKnown, useSeconds } from "../shell/use";
import { clockOf, lastSeen, spanOf } from "../shell/words";
import { AnswerActions, SaidActions } from "./Actions";
import { Delivered } from "./Delivered";
import { useOther } from "./device";
import { Edit } from "./Edit";
import { MarkerLine } from "./MarkerLine";
import { Parts } from "./Parts";
import { Said } from "./Said";
import { Summarized } from "./Summarized";

interface Props {
  turn: TurnView;
  session: string;
  newest: boolean;
  live: boolean;
  /** Whether it was interrupted again and again without new output. */
  stuck?: boolean;
  place: { "aria-posinset": number; "aria-setsize": number };
}

export const Turn = memo(
  function Turn({ turn, session, newest, live, stuck = false, place }: Props) {
    const away = useKnown(({ link }) => link.kind === "away");
    const editing = useUi(({ editing }) => editing?.session === session && editing.turn === turn.turn);
    const parts = turn.answer?.parts ?? [];
    const agent = parts.length > 0 || turn.marker != null || live;
    const tip = live ? (away ? "away tip" : "live tip") : "";
    return (
      <article
        className={live ? "turn running" : "turn"}
        {...place}
        aria-busy={live}
        data-turn={turn.turn}
        tabIndex={-1}
      >
        <div className="e">
          <span className="knot" />
          <div className="who">
            <b>{turn.message.from?.sender ?? i18n.t("You")}</b>
            <time className="num">{clockOf(turn.posted_at)}</time>
            <From message={turn.message} />
            <SaidActions turn={turn} session={session} newest={newest} />
          </div>
          <Said message={turn.message} />
          {editing && <Edit session={session} turn={turn.turn} message={turn.message} />}
        </div>
        {agent && (
          <div className={`e ${tip}`}>
            <span className={`knot ${live ? (away ? "away" : "live") : knotOf(turn)}`} />
            <div className="who">
              <h2>{i18n.t("Agent")}</h2>
              {live && (away ? <LastSeen /> : <Doing parts={parts} since={turn.posted_at} />)}
              <AnswerActions turn={turn} session={session} newest={newest} live={live} />
            </div>
            <Parts
              key={turn.answer?.run ?? "none"}
              parts={parts}
              interruptions={turn.answer?.interruptions}
              live={live}
            />
            <Delivered session={session} turn={turn.turn} />
            {turn.marker != null && (
              <MarkerLine marker={turn.marker} session={session} newest={newest} live={live} stuck={stuck} />
            )}
          </div>
        )}
        <Summarized session={session} turn={turn.turn} />
      </article>
    );
  },
  (one, other) =>
    one.turn === other.turn &&
    one.live === other.live &&
    one.newest === other.newest &&
    one.stuck === other.stuck &&
    one.place["aria-setsize"] === other.place["aria-setsize"] &&
    one.place["aria-posinset"] === other.place["aria-posinset"],
);

/** Where a message was written, when that was not here. */
function From({ message }: { message: Message }) {
  const device = useOther(message.device);
  if (device === undefined) return null;
  return <span>{i18n.t("from {device}", { device })}</span>;
}

function knotOf(turn: TurnView): string {
  switch (turn.marker?.kind) {
    case "stopped":
    case "interrupted":
    case "failed":
    case "other":
      return "halt";
    case "recovering":
      return "rec";
    default:
      return "agent";
  }
}

/** While the server is unreachable nobody knows whether the agent still writes. */
function LastSeen() {
  const link = useKnown(({ link }) => link);
  return <span className="t">{lastSeen(link)}</span>;
}

function Doing({ parts, since }: { parts: readonly Part[]; since: number }) {
  const now = useSeconds(true);
  const last = parts.at(-1);
  const running = last !== undefined && "call" in last;
  const word = running
    ? i18n.t("Running {tool}", { tool: last.call.tool })
    : last === undefined || "reasoning" in last
      ? i18n.t("Thinking")
      : i18n.t("Writing");
  return (
    <>
      <span className="k">{word}</span>
      <span className="num">{spanOf(now - since / 1_000)}</span>
    </>
  );
}

/** A message that is on this device and not known to be on the server. */
export function WaitingTurn({ message }: { message: Waiting }) {
  const now = useSeconds(true);
  const slow = now - message.at > 300;
  const away = useKnown(({ link }) => link.kind !== "open");
  return (
    <article className="turn" aria-label={i18n.t("Not sent yet")}>
      <div className="e">
        <span className="knot" />
        <div className="who">
          <b>{i18n.t("You")}</b>
          {message.refused !== undefined ? (
            <span className="bad">{i18n.t("Not sent: {why}", { why: message.refused })}</span>
          ) : away ? (
            <span>{i18n.t("Not sent yet. Kept on this device. It goes out when the server is back.")}</span>
          ) : (
            slow && <span>{i18n.t("Saving…")}</span>
          )}
          {message.refused !== undefined && (
            <button type="button" className="btn sm ghost" onClick={() => outbox.discard(message.key)}>
              {i18n.t("Discard")}
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
