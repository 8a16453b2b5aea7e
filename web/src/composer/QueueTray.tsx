import { CornerDownRight, ListPlus, Pencil, X } from "lucide-react";
import { useState } from "react";

import { ask, Refused } from "../api/client";
import type { Queued } from "../log/types";
import { announce } from "../shell/announce";

/** Messages that wait on the server: every device sees them and can change them. */
export function QueueTray({
  session,
  queue,
  busy,
}: {
  session: string;
  queue: readonly Queued[];
  busy: boolean;
}) {
  if (queue.length === 0) return null;
  return (
    <ul className="tray" aria-label="Waiting messages">
      {queue.map((queued) => (
        <Waiting key={queued.turn} session={session} queued={queued} busy={busy} />
      ))}
    </ul>
  );
}

function Waiting({ session, queued, busy }: { session: string; queued: Queued; busy: boolean }) {
  const [draft, setDraft] = useState<string>();
  const path = `/sessions/${session}/queue/${queued.turn}`;
  const change = (asked: Promise<unknown>) =>
    asked.catch((error: unknown) =>
      announce(error instanceof Refused ? error.detail : "Not changed: the server cannot be reached."),
    );
  const steers = queued.mode === "steer";
  if (draft !== undefined) {
    return (
      <li className="q">
        <form
          className="grow"
          onSubmit={(event) => {
            event.preventDefault();
            const { attachments } = queued.message;
            const asked = ask("PUT", path, { body: { text: draft, attachments } }).then(() =>
              setDraft(undefined),
            );
            void change(asked);
          }}
        >
          <input
            className="edit"
            aria-label="Waiting message"
            value={draft}
            autoFocus
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Escape") return;
              event.preventDefault();
              setDraft(undefined);
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
        {steers ? "Steering" : "Queued"}
      </span>
      <span className="clip grow">{queued.message.text}</span>
      {steers && busy && <span className="tag">at the next step</span>}
      <button type="button" className="icon" aria-label="Edit" onClick={() => setDraft(queued.message.text)}>
        <Pencil aria-hidden="true" />
      </button>
      <button
        type="button"
        className="icon"
        aria-label="Remove"
        onClick={() => void change(ask("DELETE", path))}
      >
        <X aria-hidden="true" />
      </button>
    </li>
  );
}
