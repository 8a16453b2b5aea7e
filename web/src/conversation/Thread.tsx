// The conversation. The newest turns stand outside the virtual range: they may be long, and grow every frame. The end is
// followed only by who stands at it.

import { i18n } from "@lingui/core";
import {
  memo,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import type { TurnView, View } from "../log/types";
import { Hello } from "../shell/Hello";
import { useKnown } from "../shell/use";
import { countOf } from "../shell/words";
import type { Earlier } from "./earlier";
import { JumpToEnd } from "./JumpToEnd";
import { useEnd } from "./end";
import { useReveal } from "./reveal";
import { Turn, WaitingTurn } from "./Turn";

/** Older turns are asked for when fewer screens than these are left above. */
const SCREENS_ABOVE = 2;

interface Props {
  session: string;
  view: View | undefined;
  earlier: Earlier;
  /** What stands at the end of the turns. */
  children?: React.ReactNode;
}

export function Thread({ session, view, earlier, children }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const column = useRef<HTMLDivElement>(null);
  const tail = useRef<HTMLDivElement>(null);
  const outbox = useKnown(({ outbox }) => outbox);
  const fresh = useKnown(({ fresh }) => fresh[session] !== undefined);
  const away = useKnown(({ link }) => link.kind === "away");
  const waiting = outbox.filter((message) => message.session === session);
  const { settled, newest } = useSplit(earlier.turns, view?.turns ?? [], scroller, tail);
  const count = settled.length + newest.length + earlier.missing;
  const { pinned, above, toEnd, lift, unpin, scrolled } = useEnd(scroller, column, tail);
  const { going, goToFirst, stay } = useFirst(scroller, earlier, unpin);
  const list = useRef<VirtualizerHandle>(null);
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
  // Where nothing can be scrolled yet, nobody can ask by scrolling.
  useEffect(() => {
    const area = scroller.current;
    if (area !== null && missing > 0 && area.scrollHeight <= area.clientHeight) load();
  }, [missing, load]);
  const press = (event: KeyboardEvent) => {
    const { key, target } = event;
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
      {going && earlier.coming !== undefined && (
        <div className="jump up" role="status">
          {i18n.t("Reading earlier turns… {count} of {all}", {
            count: countOf(earlier.coming),
            all: countOf(missing),
          })}
        </div>
      )}
      <div
        className="thread"
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
          <Settled
            turns={settled}
            before={earlier.missing}
            count={count}
            session={session}
            scroller={scroller}
            list={list}
          />
          <div ref={tail}>
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

interface SettledProps {
  turns: readonly TurnView[];
  /** How many turns are not here yet. */
  before: number;
  count: number;
  session: string;
  scroller: RefObject<HTMLDivElement | null>;
  list: RefObject<VirtualizerHandle | null>;
}

/** Everything above the newest turns. It rests while they grow. */
const Settled = memo(function Settled({ turns, before, count, session, scroller, list }: SettledProps) {
  const known = useRef(turns);
  // Where a reader stands is counted from the end when older turns come in above.
  const older = turns.length > known.current.length && turns[0] !== known.current[0];
  useLayoutEffect(() => {
    known.current = turns;
  }, [turns]);
  return (
    <Virtualizer ref={list} data={turns} scrollRef={scroller} shift={older}>
      {(turn, at) => (
        <Turn
          key={turn.turn}
          turn={turn}
          session={session}
          newest={false}
          live={false}
          place={placeOf(before + at, count)}
        />
      )}
    </Virtualizer>
  );
});

function placeOf(at: number, count: number) {
  return { "aria-posinset": at + 1, "aria-setsize": count };
}

function isField(target: EventTarget): boolean {
  return target instanceof HTMLTextAreaElement || target instanceof HTMLInputElement;
}

/** The list as it was for as long as it holds the same. */
function useSame<T>(list: readonly T[]): readonly T[] {
  const known = useRef(list);
  const before = known.current;
  if (list.length !== before.length || list.some((item, at) => item !== before[at])) known.current = list;
  return known.current;
}

/**
 * Which turns stand in the virtual range, and which below it. A turn keeps its nodes while it can be seen: it goes in once
 * it is well above the screen, when the next one comes.
 */
function useSplit(
  earlier: readonly TurnView[],
  inState: readonly TurnView[],
  scroller: RefObject<HTMLDivElement | null>,
  tail: RefObject<HTMLDivElement | null>,
) {
  const first = useRef<number>(undefined);
  const last = useRef<number>(undefined);
  const newestTurn = inState.at(-1)?.turn;
  if (newestTurn !== last.current) {
    last.current = newestTurn;
    first.current = firstInSight(scroller.current, tail.current) ?? newestTurn;
  }
  const isFirst = ({ turn }: TurnView) => turn === first.current;
  const at = inState.findLastIndex(isFirst);
  // One that the state let go meanwhile may still be in sight; one that was taken back is nowhere.
  const place = at >= 0 ? -1 : earlier.findLastIndex(isFirst);
  const split = at >= 0 ? at : place >= 0 ? 0 : Math.max(0, inState.length - 1);
  const left = place >= 0 ? place : earlier.length;
  const above = useSame(inState.slice(0, split));
  const settled = useMemo(() => [...earlier.slice(0, left), ...above], [earlier, left, above]);
  return { settled, newest: [...earlier.slice(left), ...inState.slice(split)] };
}

/** The first of the newest turns that is not well above the screen. */
function firstInSight(scroller: HTMLElement | null, tail: HTMLElement | null): number | undefined {
  if (scroller === null || tail === null) return undefined;
  const { top, height } = scroller.getBoundingClientRect();
  const turns = [...tail.querySelectorAll<HTMLElement>("article[data-turn]")];
  const kept = turns.find((turn) => turn.getBoundingClientRect().bottom >= top - height);
  return kept === undefined ? undefined : Number(kept.dataset["turn"]);
}

/** Goes to the very first turn: at once if it is here, or when all that stands before it has come. */
function useFirst(scroller: RefObject<HTMLDivElement | null>, earlier: Earlier, unpin: () => void) {
  const [going, setGoing] = useState(false);
  const { missing, coming, loadAll } = earlier;
  const goToFirst = () => {
    unpin();
    setGoing(true);
    if (missing > 0 && coming === undefined) loadAll();
  };
  useLayoutEffect(() => {
    if (!going || coming !== undefined) return;
    setGoing(false);
    if (missing === 0 && scroller.current !== null) scroller.current.scrollTop = 0;
  }, [going, coming, missing, scroller]);
  const stay = useCallback(() => setGoing(false), []);
  return { going, goToFirst, stay };
}
