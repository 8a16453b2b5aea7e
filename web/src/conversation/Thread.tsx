// The conversation. The newest turn stands outside the virtual range: it may be long and grow every frame. The end is
// followed only by who stands at it.

import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { Virtualizer } from "virtua";

import type { TurnView, View } from "../log/types";
import { useKnown } from "../shell/use";
import type { Earlier } from "./earlier";
import { Turn, WaitingTurn } from "./Turn";

/** Who is so near to the end follows it. */
const PINNED = 80;

interface Props {
  session: string;
  view: View | undefined;
  earlier: Earlier;
}

export function Thread({ session, view, earlier }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const column = useRef<HTMLDivElement>(null);
  const pinned = useRef(true);
  const [below, setBelow] = useState(false);
  const outbox = useKnown(({ outbox }) => outbox);
  const waiting = outbox.filter((message) => message.session === session);
  const turns = view === undefined ? [] : [...earlier.turns, ...view.turns];
  const settled = turns.slice(0, -1);
  const newest = turns.at(-1);
  const toEnd = useCallback(() => {
    pinned.current = true;
    setBelow(false);
    const area = scroller.current;
    if (area !== null) area.scrollTop = area.scrollHeight;
  }, []);
  useLayoutEffect(() => {
    const area = column.current;
    if (area === null) return;
    const observer = new ResizeObserver(() => (pinned.current ? toEnd() : setBelow(true)));
    observer.observe(area);
    return () => observer.disconnect();
  }, [toEnd]);
  useEffect(toEnd, [session, toEnd]);
  // What was just sent is at the end.
  const sent = waiting.length;
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent, toEnd]);
  const seen = useRef({ top: 0, height: 0 });
  const scrolled = () => {
    const area = scroller.current;
    if (area === null) return;
    const left = area.scrollHeight - area.scrollTop - area.clientHeight;
    const { top, height } = seen.current;
    // Text that grows moves the end away from who follows it; only a person goes up while nothing grows.
    if (area.scrollHeight === height && area.scrollTop < top) pinned.current = false;
    seen.current = { top: area.scrollTop, height: area.scrollHeight };
    if (left <= PINNED) {
      pinned.current = true;
      setBelow(false);
    }
    if (area.scrollTop < area.clientHeight && earlier.more) earlier.load();
  };
  const up = () => {
    pinned.current = false;
  };
  return (
    <div className="area">
      <div
        className="thread"
        ref={scroller}
        onScroll={scrolled}
        onWheel={(event) => event.deltaY < 0 && up()}
        onTouchMove={up}
        onKeyDown={(event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && up()}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
      >
        <div className="col push" role="feed" aria-label="Turns" aria-busy={view?.run != null} ref={column}>
          <Virtualizer scrollRef={scroller} shift={earlier.loading}>
            {settled.map((turn, at) => (
              <Shown key={turn.turn} turn={turn} at={at} count={turns.length} session={session} view={view} />
            ))}
          </Virtualizer>
          {newest !== undefined && (
            <Shown
              key={newest.turn}
              turn={newest}
              at={turns.length - 1}
              count={turns.length}
              session={session}
              view={view}
              newest
            />
          )}
          {waiting.map((message) => (
            <WaitingTurn key={message.key} message={message} />
          ))}
          {view !== undefined && turns.length === 0 && waiting.length === 0 && <Nothing />}
        </div>
      </div>
      {below && (
        <button type="button" className="jump" onClick={toEnd}>
          <ArrowDown aria-hidden="true" /> New text below
        </button>
      )}
    </div>
  );
}

interface ShownProps {
  turn: TurnView;
  at: number;
  count: number;
  session: string;
  view: View | undefined;
  newest?: boolean;
}

function Shown({ turn, at, count, session, view, newest = false }: ShownProps) {
  const live = newest && view?.run != null;
  return (
    <Turn
      turn={turn}
      session={session}
      newest={newest}
      live={live}
      place={{ "aria-posinset": at + 1, "aria-setsize": count }}
    />
  );
}

function Nothing() {
  return (
    <div className="hello">
      <h2>Nothing written here gets lost.</h2>
      <p>
        Close the tab, lose the Wi-Fi, restart the server. The conversation is on disk before you see it, and
        it comes back to the exact word.
      </p>
    </div>
  );
}
