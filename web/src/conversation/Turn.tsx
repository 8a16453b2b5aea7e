// One turn: the message and its answer. Component and DOM nodes stay the same while it is live, stopped, recovered and
// settled; only the marker changes.

import { i18n } from "@lingui/core";
import { memo } from "react";

import { codeText } from "../api/problems";
import type { Trouble, Waiting } from "../live/outbox";
import { outbox } from "../live/store";
import type { Message, Part, Retry, TurnView } from "../log/types";
import { variant } from "../log/variants";
import { ErrorBoundary } from "../shell/ErrorBoundary";
import { ui, useUi } from "../shell/ui";
import { useKnown, useSeconds } from "../shell/use";
import { copyOrNotify } from "../shell/copy";
import { clockOf, lastSeen, spanOf } from "../shell/words";
import { isVolatile } from "../storage/local";
import { AnswerActions, SaidActions } from "./Actions";
import { Delivered } from "./Delivered";
import { useOther } from "./device";
import { Edit } from "./Edit";
import { MarkerLine } from "./MarkerLine";
import { Parts } from "./Parts";
import { retryWords } from "./retry";
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

/** Returns the position of a turn among all turns of its session, for screen readers. */
export function placeOf(at: number, count: number): Props["place"] {
  return { "aria-posinset": at + 1, "aria-setsize": count };
}

/** A turn, or its plain text if rendering throws. Memoized: hundreds of turns do not re-render while the newest grows. */
export const Turn = memo(
  function Turn(props: Props) {
    return (
      <ErrorBoundary of={props.turn} fallback={() => <TurnWords {...props} />}>
        <WholeTurn {...props} />
      </ErrorBoundary>
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

function WholeTurn({ turn, session, newest, live, stuck = false, place }: Props) {
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
          <b dir="auto">{turn.message.from?.sender ?? i18n.t("You")}</b>
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
            {live &&
              (away ? <LastSeen /> : <Doing parts={parts} since={turn.posted_at} retry={turn.retry} />)}
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
}

/** Renders the text of a turn without any code that could throw. */
function TurnWords({ turn, place }: Props) {
  const texts = (turn.answer?.parts ?? []).flatMap(
    (part) => variant(part, "text") ?? variant(part, "reasoning") ?? [],
  );
  return (
    <article className="turn" {...place} data-turn={turn.turn} tabIndex={-1}>
      <div className="e">
        <span className="knot" />
        <p className="raw" dir="auto">
          {turn.message.text}
        </p>
        <p className="bad">{i18n.t("This turn can't be displayed. Its content is shown as plain text.")}</p>
        {texts.map((text, at) => (
          <p key={at} className="raw" dir="auto">
            {text}
          </p>
        ))}
      </div>
    </article>
  );
}

/** The device of a message written elsewhere. */
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

/** While the server is unreachable, it is unknown whether the agent is still writing. */
function LastSeen() {
  const link = useKnown(({ link }) => link);
  return <span className="t">{lastSeen(link)}</span>;
}

interface DoingProps {
  parts: readonly Part[];
  since: number;
  retry?: Retry | null;
}

function Doing({ parts, since, retry }: DoingProps) {
  const now = useSeconds(true);
  const last = parts.at(-1);
  const call = variant(last, "call");
  const word =
    call !== undefined
      ? i18n.t("Running {tool}", { tool: call.tool })
      : last === undefined || variant(last, "reasoning") !== undefined
        ? i18n.t("Thinking")
        : i18n.t("Writing");
  if (retry != null) {
    const seconds = Math.max(0, Math.ceil(retry.until / 1_000_000 - now / 1_000));
    return <span className="k">{retryWords(retry.reason, seconds)}</span>;
  }
  return (
    <>
      <span className="k">{word}</span>
      <span className="num">{spanOf(now - since / 1_000)}</span>
    </>
  );
}

/** Failed attempts before the UI reports them. */
const FAILURES_SHOWN = 3;

/** A message on this device that the server has not confirmed. */
export function WaitingTurn({ message, lost = false }: { message: Waiting; lost?: boolean }) {
  const now = useSeconds(true);
  const slow = now - message.at > 300;
  const away = useKnown(({ link }) => link.kind !== "open");
  const unsent = useKnown(({ unsent }) => unsent[message.session]);
  const failing = unsent !== undefined && unsent.failures >= FAILURES_SHOWN && !away ? unsent : undefined;
  const refused = message.refused;
  return (
    <article className="turn" aria-label={i18n.t("Not sent yet")}>
      <div className="e">
        <span className="knot" />
        <div className="who">
          <b>{i18n.t("You")}</b>
          {refused !== undefined ? (
            <span className="bad">{`${i18n.t("Not sent.")} ${codeText(refused)}`}</span>
          ) : away ? (
            <span>
              {isVolatile()
                ? i18n.t(
                    "Not sent yet. This browser blocks storage, so keep this tab open until the server is back.",
                  )
                : i18n.t(
                    "Not sent yet. Your message is saved on this device and will be sent when the server is back.",
                  )}
            </span>
          ) : failing !== undefined ? (
            <span>{unsentWords(failing, now)}</span>
          ) : (
            slow && <span>{i18n.t("Saving…")}</span>
          )}
          {failing !== undefined && refused === undefined && (
            <button type="button" className="btn sm ghost" onClick={() => outbox.deliver()}>
              {i18n.t("Try now")}
            </button>
          )}
          {(refused !== undefined || failing !== undefined) && <TakeBack message={message} lost={lost} />}
        </div>
        <div className="said wait">
          <div className="words" dir="auto">
            {message.text}
          </div>
        </div>
      </div>
    </article>
  );
}

function unsentWords({ problem, retryAt }: Trouble, now: number): string {
  const seconds = Math.max(0, Math.ceil((retryAt - now) / 1_000));
  const retry = i18n.t("Your message is saved on this device. Retrying in {seconds} s.", { seconds });
  return `${troubleWords(problem)} ${retry}`;
}

/** Says why delivery fails. Unlike `codeText`, it gives no advice: the page itself retries. */
function troubleWords(problem: string | undefined): string {
  switch (problem) {
    case undefined:
      return i18n.t("Not sent yet: the server is unreachable.");
    case "unavailable":
      return i18n.t("Not sent yet: the server can't save right now.");
    case "not_ready":
      return i18n.t("Not sent yet: the server is starting or stopping.");
    case "moved":
      return i18n.t("Not sent yet: another server node is taking over this session.");
    case "too_many":
      return i18n.t("Not sent yet: the server is limiting requests.");
    case "doubtful":
      return i18n.t("The server hasn't confirmed that it saved your message.");
    default:
      return i18n.t("Not sent yet: something went wrong on the server.");
  }
}

/** `lost` if the session is gone, so that no composer can take the text. */
function TakeBack({ message, lost }: { message: Waiting; lost: boolean }) {
  const edit = () => {
    const { session, text, attachments } = message;
    outbox.discard(message.key);
    ui.setState({ returned: { session, text, attachments } });
  };
  return (
    <>
      {lost ? (
        <button type="button" className="btn sm ghost" onClick={() => void copyOrNotify(message.text)}>
          {i18n.t("Copy")}
        </button>
      ) : (
        <button type="button" className="btn sm ghost" onClick={edit}>
          {i18n.t("Edit")}
        </button>
      )}
      <button type="button" className="btn sm ghost" onClick={() => outbox.discard(message.key)}>
        {i18n.t("Delete")}
      </button>
    </>
  );
}
