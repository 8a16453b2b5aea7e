// The list by keyboard. One of its rows is reached by the tab key; arrows go on from there, and letters do what the menu of
// the row does.

import {
  useCallback,
  useLayoutEffect,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type RefObject,
} from "react";
import type { VirtualizerHandle } from "virtua";

import { archive, pin, putBack, trash } from "../sessions/acts";
import { ask, openMenu } from "../sessions/asked";
import { lineOf } from "../sessions/lists";
import { archiveAll, picked, pickNone, putBackAll, toggle, trashAll } from "../sessions/picked";
import { shelfOf, type Line } from "../sessions/types";
import { isOn } from "../shell/remembered";
import type { Order } from "./order";

interface Keys {
  /** The row that the tab key comes to. */
  reached: number | undefined;
  press: (event: KeyboardEvent) => void;
  focused: (event: FocusEvent) => void;
  blurred: (event: FocusEvent) => void;
}

export function useListKeys(
  order: Order,
  area: RefObject<HTMLDivElement | null>,
  list: RefObject<VirtualizerHandle | null>,
  shown: string | undefined,
): Keys {
  /** The session that had the focus last. */
  const [stood, setStood] = useState<string>();
  /** The row that has it: where it goes when its session leaves. */
  const standing = useRef<number>(undefined);
  const reached = rowOf(order, stood) ?? rowOf(order, shown) ?? order.step(0, 1);
  const go = useCallback(
    (at: number) => {
      const line = order.lineAt(at);
      if (line === undefined) return;
      setStood(line.session);
      standing.current = at;
      list.current?.scrollToIndex(at, { align: "nearest" });
      focusSoon(area, line.session);
    },
    [order, area, list],
  );
  // The focus stays in the list when the row that has it is no more, or says something else.
  useLayoutEffect(() => {
    const at = standing.current;
    if (at === undefined) return;
    if (document.activeElement !== document.body) {
      standing.current = rowOf(order, stood) ?? at;
      return;
    }
    const next = rowOf(order, stood) ?? (order.lineAt(at) === undefined ? order.step(at, -1) : at);
    if (next !== undefined) go(next);
  }, [order, stood, go]);
  const press = (event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    if (!target.matches("[data-row]")) return;
    const session = target.closest<HTMLElement>("[data-session]")?.dataset["session"];
    const line = session === undefined ? undefined : lineOf(session);
    const at = line === undefined ? undefined : order.rowOf(line);
    if (line === undefined || at === undefined) return;
    if (step(event, order, at, go) || act(event, line, target)) event.preventDefault();
  };
  const focused = (event: FocusEvent) => {
    const session = (event.target as HTMLElement).closest<HTMLElement>("[data-session]")?.dataset["session"];
    standing.current = session === undefined ? undefined : rowOf(order, session);
    if (session !== undefined) setStood(session);
  };
  const blurred = (event: FocusEvent) => {
    if (event.relatedTarget !== null) standing.current = undefined;
  };
  return { reached, press, focused, blurred };
}

function rowOf(order: Order, session: string | undefined): number | undefined {
  const line = session === undefined ? undefined : lineOf(session);
  return line === undefined ? undefined : order.rowOf(line);
}

/** A row that is far away is drawn first. */
function focusSoon(area: RefObject<HTMLDivElement | null>, session: string, tries = 10): void {
  const row = area.current?.querySelector<HTMLElement>(`[data-session="${session}"] [data-row]`);
  if (row != null) row.focus({ preventScroll: false });
  else if (tries > 0) requestAnimationFrame(() => focusSoon(area, session, tries - 1));
}

/** Goes to another row. */
function step(event: KeyboardEvent, order: Order, at: number, go: (at: number) => void): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const next = {
    ArrowDown: () => order.step(at, 1),
    ArrowUp: () => order.step(at, -1),
    Home: () => order.step(0, 1),
    End: () => order.step(order.length, -1),
  }[event.key];
  if (next === undefined) return false;
  const place = next();
  if (place !== undefined) go(place);
  return true;
}

/** Does what the menu does: with the row, or with all that are selected when it is one of them. */
function act(event: KeyboardEvent, line: Line, row: HTMLElement): boolean {
  const { key } = event;
  if (key === "ContextMenu" || (key === "F10" && event.shiftKey)) {
    const { left, bottom } = row.getBoundingClientRect();
    openMenu({ of: { session: line.session }, x: left, y: bottom });
    return true;
  }
  // What is only a button that takes something back does nothing else.
  if (event.ctrlKey || event.metaKey || event.altKey || row.localName !== "a") return false;
  if (key.length === 1 && key !== " " && !isOn("letters")) return false;
  const { sessions } = picked.getState();
  const several = sessions.has(line.session) ? [...sessions] : undefined;
  const active = shelfOf(line) === "active";
  switch (key === " " ? "Space" : key.toLowerCase()) {
    case "Space":
      toggle(line.session);
      return true;
    case "escape":
      if (sessions.size === 0) return false;
      pickNone();
      return true;
    case "p":
      pin(line);
      return true;
    case "x":
      if (several !== undefined) void (active ? archiveAll : putBackAll)(several);
      else (active ? archive : putBack)(line);
      return true;
    case "m":
      ask({ kind: "move", sessions: several ?? [line.session] });
      return true;
    case "delete":
      if (line.trashed) ask({ kind: "erase", sessions: several ?? [line.session] });
      else if (several !== undefined) void trashAll(several);
      else trash(line);
      return true;
    default:
      return false;
  }
}
