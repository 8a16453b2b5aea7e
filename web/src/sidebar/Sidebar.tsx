import { i18n } from "@lingui/core";
import { Check, CloudOff, Plus, Settings } from "lucide-react";
import { useEffect, useState } from "react";
import { Link, useLocation } from "wouter";

import { ask } from "../api/client";
import type { Line } from "../log/types";
import { attempt } from "../shell/attempt";
import { Mark } from "../shell/Mark";
import { useKnown, useSeconds } from "../shell/use";
import { exactClock, whenOf } from "../shell/words";
import { Results, SearchField } from "./Search";

/** The session that is shown, if one is. */
function current(path: string): string | undefined {
  return /^\/s\/([^/]+)/.exec(path)?.[1];
}

export function Sidebar() {
  const list = useKnown(({ list }) => list);
  const [path, go] = useLocation();
  const make = async () => {
    const after = current(path);
    const body = { id: crypto.randomUUID(), ...(after === undefined ? {} : { after }) };
    const { session } = await ask<{ session: string }>("POST", "/sessions", { body });
    go(`/s/${session}`);
  };
  const begin = () => void attempt("made", make());
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.shiftKey && event.key.toLowerCase() === "o") {
        event.preventDefault();
        begin();
      } else if (event.altKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
        // Round the sessions in which something happens.
        const live = list?.filter((line) => line.run != null) ?? [];
        const at = live.findIndex((line) => line.session === current(path));
        const next = live.at((at + (event.key === "ArrowDown" ? 1 : -1)) % Math.max(1, live.length));
        if (next === undefined) return;
        event.preventDefault();
        go(`/s/${next.session}`);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  const [words, setWords] = useState("");
  const pinned = list?.filter((line) => line.pinned) ?? [];
  const others = list?.filter((line) => !line.pinned) ?? [];
  return (
    <nav className="side" aria-label="Sessions">
      <div className="brand">
        <Mark />
        <b className="grow">Everturn</b>
        <Link href="/settings" className="icon" aria-label={i18n.t("Settings")} title={i18n.t("Settings")}>
          <Settings aria-hidden="true" />
        </Link>
        <button
          type="button"
          className="icon"
          aria-label="New session"
          title="New session (Ctrl Shift O)"
          onClick={begin}
        >
          <Plus aria-hidden="true" />
        </button>
      </div>
      <SearchField words={words} setWords={setWords} />
      <div className="list">
        {words.trim() !== "" ? (
          <Results words={words.trim()} />
        ) : (
          <>
            {list?.length === 0 && <p className="dim none">No sessions yet.</p>}
            {pinned.length > 0 && <h2>Pinned</h2>}
            <Lines lines={pinned} shown={current(path)} />
            {pinned.length > 0 && others.length > 0 && <h2>Sessions</h2>}
            <Lines lines={others} shown={current(path)} />
          </>
        )}
      </div>
      <SaveLine />
    </nav>
  );
}

function Lines({ lines, shown }: { lines: Line[]; shown: string | undefined }) {
  const now = useSeconds(lines.length > 0);
  const away = useKnown(({ link }) => link.kind !== "open");
  return lines.map((line) => (
    <Link
      key={line.session}
      href={`/s/${line.session}`}
      className="sess"
      aria-current={line.session === shown ? "page" : undefined}
    >
      <span className={line.run == null ? undefined : away ? "st hollow" : "st live"} />
      <span className="t">{line.title ?? "New session"}</span>
      <span className="w">{whenOf(line.active_at, now)}</span>
      {line.run != null && <span className="m k">Writing</span>}
    </Link>
  ));
}

function SaveLine() {
  const link = useKnown(({ link }) => link.kind);
  const waiting = useKnown(({ outbox }) => outbox.filter((message) => message.kept === undefined).length);
  const heardAt = useKnown(({ heardAt }) => heardAt);
  if (waiting > 0) {
    return (
      <div className="foot">
        <b>
          <CloudOff aria-hidden="true" /> Kept on this device
        </b>
        <span>{waiting === 1 ? "1 message goes" : `${waiting} messages go`} out when the server is back</span>
      </div>
    );
  }
  return (
    <div className="foot">
      <b>
        {link === "open" ? <Check aria-hidden="true" /> : <CloudOff aria-hidden="true" />}
        {link === "open" ? "Everything is saved" : "Out of touch"}
      </b>
      {heardAt > 0 && <span className="num">Last heard {exactClock(heardAt)}</span>}
    </div>
  );
}
