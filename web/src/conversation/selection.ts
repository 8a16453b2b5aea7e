// Copies a selection that spans turns which are not mounted: the virtual range mounts only those on the screen.

import { i18n } from "@lingui/core";
import { useEffect, useLayoutEffect, useRef, useState, type RefObject } from "react";

import { isField } from "../commands/keys";
import { transcript } from "../log/transcript";
import type { TurnView } from "../log/types";
import { announce } from "../shell/announce";
import { ui } from "../shell/ui";
import { sameList } from "./split";

const TURN = "article[data-turn]";
const NONE: readonly number[] = [];

interface Shown {
  column: RefObject<HTMLElement | null>;
  whole: boolean;
  /** Every loaded turn, in order. */
  turns: readonly TurnView[];
  /** The number of earlier turns that are not loaded. */
  missing: number;
}

/** Copies a selection with unmounted turns as text. Returns its first and last turn, which must stay mounted. */
export function useSelection(shown: Shown): readonly number[] {
  const { column, whole } = shown;
  const [ends, setEnds] = useState(NONE);
  const latest = useRef(shown);
  useLayoutEffect(() => {
    latest.current = shown;
  });
  useEffect(() => {
    if (whole) return;
    const look = () => {
      const span = spanIn(column.current);
      const next = [span?.first, span?.last].filter((turn) => turn !== undefined);
      setEnds((before) => (sameList(before, next) ? before : next));
    };
    document.addEventListener("selectionchange", look);
    return () => document.removeEventListener("selectionchange", look);
  }, [column, whole]);
  useEffect(() => {
    const take = (event: ClipboardEvent) => copySelection(event, latest.current);
    document.addEventListener("copy", take);
    return () => document.removeEventListener("copy", take);
  }, []);
  return ends;
}

function copySelection(event: ClipboardEvent, { column, whole, turns, missing }: Shown): void {
  const span = spanIn(column.current);
  if (span === undefined || event.defaultPrevented || isField(event.target)) return;
  const copied = turnsOf(span, turns);
  if (!whole && copied.some(({ turn }) => !isInPage(column.current, turn))) {
    // Copies whole turns, because the rendered text of a partial turn is unknown.
    event.clipboardData?.setData("text/plain", transcript(copied));
    event.preventDefault();
  }
  if (span.first === undefined && missing > 0) tellMissing(missing);
}

/** The first and last turn of a selection. Undefined where it extends above or below the turns. */
export interface Span {
  first: number | undefined;
  last: number | undefined;
}

export function turnsOf({ first, last }: Span, turns: readonly TurnView[]): readonly TurnView[] {
  const start = first === undefined ? 0 : turns.findIndex(({ turn }) => turn === first);
  const end = last === undefined ? turns.length - 1 : turns.findIndex(({ turn }) => turn === last);
  return start < 0 || end < start ? [] : turns.slice(start, end + 1);
}

function spanIn(column: HTMLElement | null): Span | undefined {
  const selection = document.getSelection();
  if (column === null || selection === null || selection.isCollapsed) return undefined;
  const range = selection.getRangeAt(0);
  const selected = [...column.querySelectorAll<HTMLElement>(TURN)].filter((turn) =>
    range.intersectsNode(turn),
  );
  const [first, last] = [selected[0], selected.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  return {
    first: range.comparePoint(column, 0) === 0 ? undefined : numberOf(first),
    last: range.comparePoint(column, column.childNodes.length) === 0 ? undefined : numberOf(last),
  };
}

function numberOf(turn: HTMLElement): number {
  return Number(turn.dataset["turn"]);
}

function isInPage(column: HTMLElement | null, turn: number): boolean {
  return column?.querySelector(`article[data-turn="${turn}"]`) != null;
}

function tellMissing(missing: number): void {
  const text = i18n.t(
    "{missing, plural, one {Copied without # earlier turn, which isn't loaded. Press Home to load it, then copy again.} other {Copied without # earlier turns, which aren't loaded. Press Home to load them, then copy again.}}",
    { missing },
  );
  ui.setState({ notice: { text, kind: "refused" } });
  announce(text);
}
