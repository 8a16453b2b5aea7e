// The end of a conversation: a reader at it follows what comes, and one who went up stays where they read.

import { useCallback, useLayoutEffect, useRef, useState, type RefObject } from "react";

import type { TurnView } from "../log/types";
import { variant } from "../log/variants";

/** A reader within so many pixels of the end follows it. */
const NEAR = 80;
/** A gesture is over when nothing scrolled for so long. */
const GESTURE = 150;

type Area = RefObject<HTMLDivElement | null>;

/** How much is written at the end of a conversation. */
export interface Written {
  turn: number | undefined;
  run: number | undefined;
  letters: number;
}

export function writtenIn(turn: TurnView | undefined): Written {
  const texts = (turn?.answer?.parts ?? []).map(
    (part) => variant(part, "text") ?? variant(part, "reasoning"),
  );
  const letters = texts.map((text) => text?.length ?? 0);
  return { turn: turn?.turn, run: turn?.answer?.run, letters: letters.reduce((sum, some) => sum + some, 0) };
}

/** Whether text came: in the same answer, in another answer of the turn, or with another turn. */
export function hasGrown(before: Written, now: Written): boolean {
  if (now.turn !== before.turn) return true;
  return now.letters > (now.run === before.run ? before.letters : 0);
}

function distance({ scrollHeight, scrollTop, clientHeight }: HTMLElement): number {
  return scrollHeight - scrollTop - clientHeight;
}

export function useEnd(scroller: Area, column: Area, tail: Area) {
  const pinned = useRef(true);
  /** The timer of a gesture upwards that is going on: nothing pulls against it. */
  const lifting = useRef<ReturnType<typeof setTimeout>>(undefined);
  /** Whether the reader is above the end. */
  const [above, setAbove] = useState(false);
  const seen = useRef({ scrollTop: 0, scrollHeight: 0, clientHeight: 0 });
  const pin = useCallback((on: boolean) => {
    pinned.current = on;
    if (on) setAbove(false);
  }, []);
  const toEnd = useCallback(() => {
    pin(true);
    const area = scroller.current;
    if (area !== null) area.scrollTop = area.scrollHeight;
  }, [scroller, pin]);
  useLayoutEffect(() => {
    const [area, all, newest] = [scroller.current, column.current, tail.current];
    if (area === null || all === null || newest === null) return;
    const observer = new ResizeObserver(() => {
      if (!pinned.current) setAbove(distance(area) > NEAR);
      else if (lifting.current === undefined) area.scrollTop = area.scrollHeight;
    });
    for (const node of [area, all, newest]) observer.observe(node);
    return () => observer.disconnect();
  }, [scroller, column, tail]);
  /** Stops following: the page goes elsewhere by itself. */
  const unpin = useCallback(() => pin(false), [pin]);
  /** The reader moves up. Whether they left the end shows when the page has moved. */
  const lift = useCallback(() => {
    clearTimeout(lifting.current);
    lifting.current = setTimeout(() => (lifting.current = undefined), GESTURE);
  }, []);
  const scrolled = useCallback(() => {
    const area = scroller.current;
    if (area === null) return;
    const before = seen.current;
    const { scrollTop, scrollHeight, clientHeight } = area;
    seen.current = { scrollTop, scrollHeight, clientHeight };
    const far = distance(area) > NEAR;
    if (lifting.current !== undefined) lift();
    // Text that grows and a field that shrinks move a reader at the end too; only a person goes up while nothing changes.
    const resized = scrollHeight !== before.scrollHeight || clientHeight !== before.clientHeight;
    const went = lifting.current !== undefined || !resized;
    if (scrollTop < before.scrollTop && far && went) pin(false);
    else if (scrollTop >= before.scrollTop && !far) pin(true);
    if (!pinned.current) setAbove(far);
  }, [scroller, pin, lift]);
  return { pinned, above, toEnd, lift, unpin, scrolled };
}
