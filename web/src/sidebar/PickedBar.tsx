// Bulk actions for the selected sessions, with progress and outcome.

import { i18n } from "@lingui/core";
import { Archive, Folder, Tag, Trash2, Undo2, X } from "lucide-react";

import { withKeys } from "../commands/spelling";
import { ask } from "../sessions/asked";
import { progressWords } from "../sessions/bulk";
import { useLists } from "../sessions/lists";
import {
  archiveAll,
  leaveTheRest,
  picked,
  pickNone,
  putBackAll,
  trashAll,
  usePicked,
} from "../sessions/picked";

export default function PickedBar() {
  const doing = usePicked(({ doing }) => doing);
  const told = usePicked(({ told }) => told);
  const count = usePicked(({ sessions }) => sessions.size);
  if (doing !== undefined) {
    const { deed, outcome } = doing;
    const words = progressWords(deed, outcome);
    return (
      <div className="picked">
        <p className="num">{words}</p>
        <progress max={outcome.total} value={outcome.done + outcome.refused.length} aria-label={words} />
        <button type="button" className="btn sm" onClick={leaveTheRest}>
          {i18n.t("Stop")}
        </button>
      </div>
    );
  }
  return (
    <div className="picked">
      {told !== undefined && (
        <p className="told">
          <span className="grow">{told}</span>
          {count === 0 && <Dismiss />}
        </p>
      )}
      {count > 0 && <Several count={count} />}
    </div>
  );
}

function Dismiss() {
  return (
    <button
      type="button"
      className="icon"
      aria-label={i18n.t("Dismiss")}
      title={i18n.t("Dismiss")}
      onClick={() => picked.setState({ told: undefined })}
    >
      <X aria-hidden="true" />
    </button>
  );
}

function Several({ count }: { count: number }) {
  const shelf = useLists(({ view }) => view.shelf);
  const all = () => [...picked.getState().sessions];
  return (
    <>
      <p className="told">
        <b className="grow num">
          {i18n.t("{count, plural, one {# selected} other {# selected}}", { count })}
        </b>
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("Clear selection")}
          title={withKeys(i18n.t("Clear selection"), "Escape")}
          onClick={pickNone}
        >
          <X aria-hidden="true" />
        </button>
      </p>
      <div className="do">
        {shelf === "active" ? (
          <button type="button" className="btn sm" onClick={() => void archiveAll(all())}>
            <Archive aria-hidden="true" /> {i18n.t("Archive")}
          </button>
        ) : (
          <button type="button" className="btn sm" onClick={() => void putBackAll(all())}>
            <Undo2 aria-hidden="true" /> {shelf === "trash" ? i18n.t("Restore") : i18n.t("Unarchive")}
          </button>
        )}
        {shelf === "trash" ? (
          <button
            type="button"
            className="btn sm danger"
            onClick={() => ask({ kind: "erase", sessions: all() })}
          >
            <Trash2 aria-hidden="true" /> {i18n.t("Delete permanently")}
          </button>
        ) : (
          <>
            <button type="button" className="btn sm" onClick={() => ask({ kind: "move", sessions: all() })}>
              <Folder aria-hidden="true" /> {i18n.t("Move to project")}
            </button>
            <button type="button" className="btn sm" onClick={() => ask({ kind: "tags", sessions: all() })}>
              <Tag aria-hidden="true" /> {i18n.t("Tags")}
            </button>
            <button type="button" className="btn sm" onClick={() => void trashAll(all())}>
              <Trash2 aria-hidden="true" /> {i18n.t("Move to trash")}
            </button>
          </>
        )}
      </div>
    </>
  );
}
