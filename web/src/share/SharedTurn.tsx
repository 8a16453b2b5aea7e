// A turn on a shared page: the same content as in the session, without actions.

import { i18n } from "@lingui/core";
import { FileText } from "lucide-react";
import { memo } from "react";

import { MarkerLine } from "../conversation/MarkerLine";
import { Parts } from "../conversation/Parts";
import type { Attachment, Part, TurnView } from "../log/types";
import { variant } from "../log/variants";
import { momentOf } from "../sidebar/times";
import { sizeOf } from "../shell/words";

interface Props {
  turn: TurnView;
  /** Whether its answer was still being written when the page loaded it. */
  unfinished: boolean;
}

export const SharedTurn = memo(
  function SharedTurn({ turn, unfinished }: Props) {
    const parts = turn.answer?.parts ?? [];
    const agent = parts.length > 0 || turn.marker != null || unfinished;
    return (
      <article className="turn" data-turn={turn.turn}>
        <div className="e">
          <span className="knot" />
          <div className="who">
            <h2>{i18n.t("User")}</h2>
            <time className="num">{momentOf(turn.posted_at)}</time>
          </div>
          <div className="said">
            <div className="words" dir="auto">
              {turn.message.text}
            </div>
            <Names files={turn.message.attachments ?? []} />
          </div>
        </div>
        {agent && (
          <div className="e">
            <span className="knot agent" />
            <div className="who">
              <h2>{i18n.t("Agent")}</h2>
            </div>
            <Parts
              key={turn.answer?.run ?? "none"}
              parts={parts.map(withoutFiles).map(atRest)}
              interruptions={turn.answer?.interruptions}
              // No animation: the page shows a snapshot, and the agent may have stopped writing since.
              live={false}
            />
            <Names files={parts.flatMap(filesOf)} />
            {turn.marker != null && <MarkerLine marker={turn.marker} />}
            {unfinished && (
              <div className="mk" data-marker="unfinished">
                <span>
                  {i18n.t(
                    "This answer was still being written when this page last loaded it; reload the page to see more.",
                  )}
                </span>
              </div>
            )}
          </div>
        )}
      </article>
    );
  },
  // Most refreshes return the same turns.
  (one, other) =>
    one.unfinished === other.unfinished && JSON.stringify(one.turn) === JSON.stringify(other.turn),
);

/** The names of files. Their contents aren't shared. */
function Names({ files }: { files: readonly Attachment[] }) {
  if (files.length === 0) return null;
  return (
    <div className="files">
      {files.map((file) => (
        <span
          key={file.blob}
          className="file"
          title={i18n.t("Attachments aren't included in shared sessions.")}
        >
          <span className="th">
            <FileText aria-hidden="true" />
          </span>
          <bdi>{file.name}</bdi> <span className="dim">{sizeOf(file.size_bytes)}</span>
        </span>
      ))}
    </div>
  );
}

function filesOf(part: Part): readonly Attachment[] {
  return variant(part, "steered")?.message.attachments ?? [];
}

/** On a shared page, a tool that was running may have ended since. */
function atRest(part: Part): Part {
  const call = variant(part, "call");
  return call?.state === "running" ? { call: { ...call, state: "may_have_run" } } : part;
}

function withoutFiles(part: Part): Part {
  const steered = variant(part, "steered");
  if (steered === undefined || filesOf(part).length === 0) return part;
  return { steered: { ...steered, message: { ...steered.message, attachments: [] } } };
}
