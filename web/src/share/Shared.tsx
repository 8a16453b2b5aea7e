// A shared session, readable without signing in. The page refreshes while it is visible.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

import { ask, Refused, type Schemas } from "../api/client";
import type { TurnView } from "../log/types";
import { Announcer } from "../shell/Announcer";
import { Mark } from "../shell/Mark";
import { isUnfinished, renewed, withEarlier, type Read } from "./pages";
import { SharedTurn } from "./SharedTurn";

const PRODUCT = "Everturn";
const AGAIN = 10_000;
/** The distance in pixels from the end within which the page follows new text. */
const NEAR = 80;

type SharedBody = Omit<Schemas["SharedBody"], "turns"> & { turns: TurnView[] };

function read(secret: string, before?: number): Promise<SharedBody> {
  const from = before === undefined ? "" : `?before=${before}`;
  return ask("GET", `/shared/${encodeURIComponent(secret)}${from}`);
}

export default function Shared({ secret }: { secret: string }) {
  const { title, known, gone, away, earlier } = useShared(secret);
  const name = title ?? i18n.t("New session");
  const shown = gone || known === undefined ? PRODUCT : name;
  useEffect(() => {
    document.title = shown;
  }, [shown]);
  return (
    <div className="shared">
      {/* Anyone with the link can read the page, so search engines must not list it. */}
      <meta name="robots" content="noindex, nofollow" />
      <header className="head">
        <Mark />
        <div className="grow">
          <h1 className="clip" dir="auto">
            {shown}
          </h1>
          {!gone && <p className="sub">{i18n.t("Shared session, read-only")}</p>}
        </div>
      </header>
      {gone ? (
        <Gone />
      ) : known === undefined ? (
        <Opening away={away} />
      ) : (
        <Turns read={known} earlier={earlier} />
      )}
      {known !== undefined && !gone && away && (
        <p className="notice">{i18n.t("Can't reach the server. This page updates when it's back.")}</p>
      )}
      <Announcer />
    </div>
  );
}

function Gone() {
  return (
    <main className="thread">
      <div className="col hello">
        <h2>{i18n.t("This link no longer works.")}</h2>
        <p>{i18n.t("It was revoked, or the session was deleted. Ask the owner for a new link.")}</p>
      </div>
    </main>
  );
}

function Opening({ away }: { away: boolean }) {
  return (
    <main className="loading">
      {away ? i18n.t("Can't reach the server. Trying again…") : i18n.t("Loading…")}
    </main>
  );
}

/** Loads the shared session, and reloads it while the page is visible. */
function useShared(secret: string) {
  const [title, setTitle] = useState<string | null>(null);
  const [known, setKnown] = useState<Read>();
  const [gone, setGone] = useState(false);
  const [away, setAway] = useState(false);
  const failed = useCallback((error: unknown) => {
    if (error instanceof Refused && !error.passes) setGone(true);
    else setAway(true);
  }, []);
  useEffect(() => {
    let left = false;
    const look = async () => {
      if (document.visibilityState === "hidden") return;
      try {
        const told = await read(secret);
        if (left) return;
        setTitle(told.title ?? null);
        setKnown((known) => renewed(known, told));
        setAway(false);
        setGone(false);
      } catch (error) {
        if (!left) failed(error);
      }
    };
    void look();
    const timer = setInterval(() => void look(), AGAIN);
    const shown = () => void look();
    document.addEventListener("visibilitychange", shown);
    return () => {
      left = true;
      clearInterval(timer);
      document.removeEventListener("visibilitychange", shown);
    };
  }, [secret, failed]);
  const first = known?.turns[0]?.turn;
  const earlier = useCallback(async () => {
    if (first === undefined) return;
    try {
      const before = await read(secret, first);
      setKnown((known) => (known?.turns[0]?.turn === first ? withEarlier(known, before) : known));
    } catch (error) {
      failed(error);
    }
  }, [secret, first, failed]);
  return { title, known, gone, away, earlier };
}

function Turns({ read, earlier }: { read: Read; earlier: () => Promise<void> }) {
  const { turns, earlier: more } = read;
  const area = useRef<HTMLElement>(null);
  useKeptPlace(area, turns);
  return (
    <main className="thread" ref={area} tabIndex={0} aria-label={i18n.t("Turns")}>
      <div className="col">
        {more && (
          <button type="button" className="btn" onClick={() => void earlier()}>
            {i18n.t("Show earlier messages")}
          </button>
        )}
        {turns.length === 0 && <p className="dim">{i18n.t("No messages yet.")}</p>}
        {turns.map((turn, at) => (
          <SharedTurn
            key={turn.turn}
            turn={turn}
            unfinished={at === turns.length - 1 && isUnfinished(turn)}
          />
        ))}
      </div>
    </main>
  );
}

/** Keeps the scroll position when earlier turns are added, and follows the end if the reader is near it. */
function useKeptPlace(area: React.RefObject<HTMLElement | null>, turns: readonly TurnView[]): void {
  const before = useRef<{ first: number | undefined; height: number; near: boolean }>(undefined);
  useLayoutEffect(() => {
    const node = area.current;
    if (node === null) return;
    const known = before.current;
    const first = turns[0]?.turn;
    if (known !== undefined && known.first !== first) node.scrollTop += node.scrollHeight - known.height;
    else if (known?.near === true) node.scrollTop = node.scrollHeight;
    const note = () => {
      const near = node.scrollHeight - node.scrollTop - node.clientHeight <= NEAR && node.scrollTop > 0;
      before.current = { first, height: node.scrollHeight, near };
    };
    note();
    node.addEventListener("scroll", note, { passive: true });
    return () => node.removeEventListener("scroll", note);
  }, [area, turns]);
}
