import { i18n } from "@lingui/core";
import { CornerDownRight, ListPlus, Pause, Pencil, X } from "lucide-react";
import { useState } from "react";

import { ask } from "../api/client";
import type { QueuedView } from "../log/types";
import { attempt } from "../shell/attempt";
import { toComposer } from "../shell/regions";
import { countOf } from "../shell/words";

/** Messages queued on the server. Every device shows them and can change them. */
export function QueueTray({
  session,
  queue,
  busy,
}: {
  session: string;
  queue: readonly QueuedView[];
  busy: boolean;
}) {
  if (queue.length === 0) return null;
  const paused = queue.filter((queued) => queued.paused === true).length;
  return (
    <div className="tray">
      {paused > 0 && <Paused session={session} count={paused} />}
      <ul aria-label={i18n.t("Queued messages")}>
        {queue.map((queued) => (
          <Waiting key={queued.turn} session={session} queued={queued} busy={busy} />
        ))}
      </ul>
    </div>
  );
}

/** Shown after Stop paused the queue: nothing is sent until the user resumes it. */
function Paused({ session, count }: { session: string; count: number }) {
  const change = (act: "resume" | "clear") => {
    toComposer();
    void attempt(
      i18n.t("Couldn't change the queue: the server is unreachable."),
      ask("POST", `/sessions/${session}/queue/${act}`),
    );
  };
  return (
    <div className="paused">
      <Pause aria-hidden="true" />
      <span className="grow">{i18n.t("Queue paused · {count} queued", { count: countOf(count) })}</span>
      <button type="button" className="btn sm" onClick={() => change("resume")}>
        {i18n.t("Resume")}
      </button>
      <button type="button" className="btn sm ghost" onClick={() => change("clear")}>
        {i18n.t("Clear")}
      </button>
    </div>
  );
}

function Waiting({ session, queued, busy }: { session: string; queued: QueuedView; busy: boolean }) {
  const [draft, setDraft] = useState<string>();
  const path = `/sessions/${session}/queue/${queued.turn}`;
  const change = (asked: Promise<unknown>) =>
    void attempt(i18n.t("Couldn't change the queue: the server is unreachable."), asked);
  const steers = queued.mode === "steer";
  if (draft !== undefined) {
    return (
      <li className="q">
        <form
          className="grow"
          onSubmit={(event) => {
            event.preventDefault();
            // The server sets the device.
            const { device: _, ...said } = queued.message;
            const body = { ...said, text: draft };
            change(ask("PUT", path, { body }).then(() => setDraft(undefined)));
          }}
        >
          {/* Not an input, which would drop the ends of lines. */}
          <textarea
            className="edit"
            dir="auto"
            aria-label={i18n.t("Queued message")}
            rows={Math.min(6, draft.split("\n").length)}
            value={draft}
            autoFocus
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              const sends = event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing;
              if (event.key !== "Escape" && !sends) return;
              event.preventDefault();
              if (sends) event.currentTarget.form?.requestSubmit();
              else setDraft(undefined);
            }}
          />
        </form>
      </li>
    );
  }
  return (
    <li className="q">
      <span className={steers ? "tag k" : "tag"}>
        {steers ? <CornerDownRight aria-hidden="true" /> : <ListPlus aria-hidden="true" />}
        {steers ? i18n.t("Steering") : i18n.t("Queued")}
      </span>
      <span className="clip grow" dir="auto">
        {queued.message.text}
      </span>
      {steers && busy && <span className="tag">{i18n.t("at the next step")}</span>}
      {!steers && busy && (
        <button type="button" className="btn sm ghost" onClick={() => change(ask("POST", `${path}/steer`))}>
          {i18n.t("Steer now")}
        </button>
      )}
      <button
        type="button"
        className="icon"
        aria-label={i18n.t("Edit")}
        onClick={() => setDraft(queued.message.text)}
      >
        <Pencil aria-hidden="true" />
      </button>
      <button
        type="button"
        className="icon"
        aria-label={i18n.t("Remove")}
        onClick={() => change(ask("DELETE", path))}
      >
        <X aria-hidden="true" />
      </button>
    </li>
  );
}
