// The turns of a session. Up to 200 turns are all mounted. In longer sessions, all but the newest are
// virtualized; the newest may be tall, and grow every frame. The view follows the end only if the reader is there.

import { i18n } from "@lingui/core";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject,
} from "react";
import type { VirtualizerHandle } from "virtua";

import { isField, matches } from "../commands/keys";
import type { TurnView, View } from "../log/types";
import { Hello } from "../shell/Hello";
import { useKnown } from "../shell/use";
import { countOf } from "../shell/words";
import type { Earlier } from "./earlier";
import { JumpToEnd } from "./JumpToEnd";
import { useEnd } from "./end";
import { useReveal } from "./reveal";
import { ScrollAnchor } from "./ScrollAnchor";
import { useSelection } from "./selection";
import { Printed, Settled } from "./Settled";
import { useSplit } from "./split";
import { placeOf, Turn, WaitingTurn } from "./Turn";
import { useWhole } from "./whole";

/** Older turns are asked for when fewer screens than these are left above. */
const SCREENS_ABOVE = 2;
const NONE: readonly TurnView[] = [];

interface Props {
  session: string;
  view: View | undefined;
  earlier: Earlier;
  /** Whether the page is being printed, which mounts every turn. */
  printing?: boolean;
  /** What stands at the end of the turns. */
  children?: React.ReactNode;
}

export function Thread({ session, view, earlier, printing = false, children }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const column = useRef<HTMLDivElement>(null);
  const tail = useRef<HTMLDivElement>(null);
  const outbox = useKnown(({ outbox }) => outbox);
  const fresh = useKnown(({ fresh }) => fresh[session] !== undefined);
  const away = useKnown(({ link }) => link.kind === "away");
  const waiting = outbox.filter((message) => message.session === session);
  const inState = view?.turns ?? NONE;
  const count = earlier.turns.length + inState.length + earlier.missing;
  const whole = useWhole(view === undefined ? undefined : count);
  const { settled, newest } = useSplit(earlier.turns, inState, whole, scroller, tail);
  const selected = useSelection({ column, whole, turns: [...settled, ...newest], missing: earlier.missing });
  const { pinned, above, toEnd, lift, unpin, scrolled } = useEnd(scroller, column, tail);
  const list = useRef<VirtualizerHandle>(null);
  const { goToFirst, stay } = useFirst(scroller, list, earlier, unpin);
  useReveal({ session, settled, newest, list, tail, earlier, unpin });
  useEffect(toEnd, [session, toEnd]);
  // What was just sent is at the end.
  const sent = waiting.length;
  useEffect(() => {
    if (sent > 0) toEnd();
  }, [sent, toEnd]);
  const { missing, load } = earlier;
  const readAhead = useCallback(() => {
    const area = scroller.current;
    if (area !== null && missing > 0 && area.scrollTop < area.clientHeight * SCREENS_ABOVE && !pinned.current)
      load();
  }, [missing, load, pinned]);
  useAllTurns(session, whole, view, earlier);
  // Where nothing can be scrolled yet, nobody can ask by scrolling.
  useEffect(() => {
    const area = scroller.current;
    if (area !== null && missing > 0 && area.scrollHeight <= area.clientHeight) load();
  }, [missing, load]);
  const press = (event: KeyboardEvent) => {
    const { key, target } = event;
    // Loads every turn, so that Select all followed by Copy covers the whole session.
    if (matches("Mod+a", event) && !isField(target) && missing > 0) void earlier.loadAll();
    if (event.ctrlKey || event.metaKey || event.altKey || isField(target)) return;
    if (key === "ArrowUp" || key === "PageUp") lift();
    if (key !== "Home" && key !== "End") return stay();
    event.preventDefault();
    if (key === "Home") return goToFirst();
    stay();
    toEnd();
  };
  const empty = (fresh || view !== undefined) && count === 0 && waiting.length === 0;
  const unloaded = !fresh && view === undefined && away;
  // A feed holds turns and nothing else: what stands in their place is none.
  const feed =
    empty || unloaded ? {} : { role: "feed", "aria-label": i18n.t("Turns"), "aria-busy": view?.run != null };
  return (
    <div className="area">
      {earlier.coming !== undefined && (
        <div className="jump up" role="status">
          {i18n.t("Loading earlier turns… {count} of {all}", {
            count: countOf(earlier.coming),
            all: countOf(missing),
          })}
        </div>
      )}
      <div
        className="thread"
        data-whole={whole ? "" : undefined}
        ref={scroller}
        onScroll={() => {
          scrolled();
          readAhead();
        }}
        onWheel={(event) => {
          if (event.deltaY < 0) lift();
          stay();
        }}
        onTouchMove={() => {
          lift();
          stay();
        }}
        onKeyDown={press}
        tabIndex={0}
        role="region"
        aria-label={i18n.t("Conversation")}
      >
        <div className="col push" {...feed} ref={column}>
          {unloaded && <NotLoaded />}
          {!whole && printing && (
            <Printed turns={settled} before={earlier.missing} count={count} session={session} />
          )}
          {!whole && (
            <Settled
              turns={settled}
              before={earlier.missing}
              count={count}
              session={session}
              kept={selected}
              scroller={scroller}
              list={list}
            />
          )}
          <div className="tail" ref={tail}>
            <ScrollAnchor scroller={scroller} first={whole ? newest[0]?.turn : undefined}>
              {newest.map((turn, at) => (
                <Turn
                  key={turn.turn}
                  turn={turn}
                  session={session}
                  newest={at === newest.length - 1}
                  live={at === newest.length - 1 && view?.run != null}
                  stuck={at === newest.length - 1 && view?.stuck === true}
                  place={placeOf(earlier.missing + settled.length + at, count)}
                />
              ))}
            </ScrollAnchor>
            {children}
            {waiting.map((message) => (
              <WaitingTurn key={message.key} message={message} />
            ))}
          </div>
          {empty && (
            <div className="hello">
              <Hello level="h2" />
            </div>
          )}
        </div>
      </div>
      {above && <JumpToEnd turn={view?.turns.at(-1)} go={toEnd} />}
    </div>
  );
}

/** Shown in the place of the turns; the strip above says that the server is unreachable. */
function NotLoaded() {
  return (
    <div className="hello">
      <p>{i18n.t("This session can't be loaded until the server is back.")}</p>
    </div>
  );
}

/** Scrolls to the very first turn: at once if it is loaded, otherwise after loading all earlier turns. */
/** Loads every turn of a session that is fully mounted, once. If that fails, a scroll up retries. */
function useAllTurns(session: string, whole: boolean, view: View | undefined, earlier: Earlier): void {
  const asked = useRef<string>(undefined);
  const { missing, loadAll } = earlier;
  useEffect(() => {
    if (!whole || view === undefined || missing === 0 || asked.current === session) return;
    asked.current = session;
    void loadAll();
  }, [session, whole, view, missing, loadAll]);
}

function useFirst(
  scroller: RefObject<HTMLDivElement | null>,
  list: RefObject<VirtualizerHandle | null>,
  earlier: Earlier,
  unpin: () => void,
) {
  const [going, setGoing] = useState(false);
  const { missing, coming, loadAll } = earlier;
  const goToFirst = () => {
    unpin();
    setGoing(true);
    if (missing > 0 && coming === undefined) void loadAll();
  };
  useLayoutEffect(() => {
    if (!going || coming !== undefined) return;
    setGoing(false);
    if (missing > 0) return;
    // The virtualizer measures turns on the way and scrolls on until it reaches the first one.
    if (list.current !== null) list.current.scrollToIndex(0);
    else scroller.current?.scrollTo({ top: 0 });
  }, [going, coming, missing, scroller, list]);
  const stay = useCallback(() => setGoing(false), []);
  return { goToFirst, stay };
}
