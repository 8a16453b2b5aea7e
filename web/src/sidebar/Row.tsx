// One session in the list. It has a second line only if there is something to report.

import { i18n } from "@lingui/core";
import { Ellipsis, Pin, Undo2 } from "lucide-react";
import { memo, type MouseEvent } from "react";
import { Link } from "wouter";

import { withKeys } from "../commands/spelling";
import { leftWords, putBack, trashDays, undo } from "../sessions/acts";
import { openMenu } from "../sessions/asked";
import { toggle, usePicked } from "../sessions/picked";
import { shelfOf, type Line, type Shelf } from "../sessions/types";
import { useUnread } from "../sessions/unread";
import { useKnown } from "../shell/use";
import { lastSeen, whenOf } from "../shell/words";
import { dayOf, trashWords } from "./times";

interface Props {
  line: Line;
  /** The shelf in view. */
  shelf: Shelf;
  /** Whether the session is shown beside the list. */
  shown: boolean;
  /** Whether the row is in the tab order; one row of the list is. */
  reached: boolean;
  now: number;
}

export const Row = memo(function Row({ line, shelf, shown, reached, now }: Props) {
  const { session } = line;
  return (
    <div className="slot" data-session={session}>
      {shelfOf(line) === shelf ? (
        <SessionRow line={line} shelf={shelf} shown={shown} reached={reached} now={now} />
      ) : (
        <p className="left">
          <span className="clip">{leftWords(line)}</span>
          <button
            type="button"
            className="btn sm ghost"
            data-row
            tabIndex={reached ? 0 : -1}
            onClick={() => undo(line, shelf)}
          >
            {i18n.t("Undo")}
          </button>
        </p>
      )}
    </div>
  );
});

function SessionRow({ line, shelf, shown, reached, now }: Props) {
  const { session } = line;
  const title = line.title ?? i18n.t("New session");
  const unread = useUnread(line) && !shown;
  const selected = usePicked(({ sessions }) => sessions.has(session));
  const selecting = usePicked(({ sessions }) => sessions.size > 0);
  const putBackWord = shelf === "trash" ? i18n.t("Restore") : i18n.t("Unarchive");
  const tab = reached ? 0 : -1;
  const menu = (event: MouseEvent) => {
    const { left, bottom } = event.currentTarget.getBoundingClientRect();
    openMenu({ of: { session }, x: left, y: bottom });
  };
  return (
    <>
      {selecting && (
        <input
          type="checkbox"
          className="pick"
          aria-label={i18n.t("Select {title}", { title })}
          checked={selected}
          tabIndex={tab}
          onChange={() => toggle(session)}
        />
      )}
      <Link
        href={`/s/${session}`}
        className={unread ? "sess unread" : "sess"}
        aria-current={shown ? "page" : undefined}
        data-row
        data-picked={selected}
        tabIndex={tab}
      >
        <Glyph line={line} unread={unread} />
        <span className="t" dir="auto" title={title}>
          {title}
        </span>
        <span className="w">
          {line.pinned && shelf !== "active" && <Pin aria-label={i18n.t("Pinned")} />}
          {shelf === "trash" && line.trashed_at != null
            ? dayOf(line.trashed_at)
            : whenOf(line.active_at, now)}
        </span>
        <Second line={line} shelf={shelf} now={now} unread={unread} />
      </Link>
      {shelf !== "active" && (
        <button
          type="button"
          className="icon act"
          aria-label={putBackWord}
          title={putBackWord}
          tabIndex={tab}
          onClick={() => putBack(line)}
        >
          <Undo2 aria-hidden="true" />
        </button>
      )}
      <button
        type="button"
        className="icon act"
        aria-label={i18n.t("More")}
        aria-haspopup="menu"
        title={withKeys(i18n.t("More"), "Shift+F10")}
        tabIndex={tab}
        onClick={menu}
      >
        <Ellipsis aria-hidden="true" />
      </button>
    </>
  );
}

/** Each state has its own shape. A live session is only known to be live while connected. */
function Glyph({ line, unread }: { line: Line; unread: boolean }) {
  const away = useKnown(({ link }) => link.kind !== "open");
  if (line.run != null) return <span className={away ? "st hollow" : "st live"} />;
  if (line.needs != null) return <span className="st you" />;
  return unread ? <span className="st new" /> : <span />;
}

function Second({ line, shelf, now, unread }: { line: Line; shelf: Shelf; now: number; unread: boolean }) {
  if (shelf === "trash" && line.trashed_at != null) {
    return <span className="m">{trashWords(line.trashed_at, trashDays(), now)}</span>;
  }
  if (line.run != null) return <Writing />;
  if (line.needs === "failed") return <span className="m a">{i18n.t("Needs you: the answer failed")}</span>;
  if (line.needs === "interrupted") return <span className="m a">{i18n.t("Needs you: interrupted")}</span>;
  // Screen readers do not announce bold text.
  return unread ? <span className="sr">{i18n.t("Unread")}</span> : null;
}

function Writing() {
  const link = useKnown(({ link }) => link);
  if (link.kind === "away") return <span className="m away">{lastSeen(link)}</span>;
  return <span className="m k">{i18n.t("Writing")}</span>;
}
