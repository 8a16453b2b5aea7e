// The virtualized list of sessions: only visible rows are in the DOM. The scroll position stays when rows are inserted above.

import { i18n } from "@lingui/core";
import {
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  type MouseEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import { openMenu } from "../sessions/asked";
import { goOn, lineOf, useLists } from "../sessions/lists";
import { keepOnly, picked, pickRange, toggle } from "../sessions/picked";
import type { View } from "../sessions/types";
import { useKnown } from "../shell/use";
import { useListKeys } from "./keys";
import { useMinutes } from "./minutes";
import { Order, type Row as OneRow } from "./order";
import { Row } from "./Row";

/** Loads the next page when fewer rows than this remain below. */
const ROWS_BELOW = 100;

interface Props {
  /** Content above the sessions. */
  top: ReactNode;
  /** The session shown beside the list. */
  shown: string | undefined;
}

export function List({ top, shown }: Props) {
  const pins = useLists(({ pins }) => pins);
  const others = useLists(({ others }) => others);
  const shelf = useLists(({ view }) => view.shelf);
  const standing = useLists(({ standing }) => standing);
  const more = useLists(({ more }) => more);
  const order = useMemo(() => new Order(pins, others), [pins, others]);
  const area = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const now = useMinutes();
  const { reached, press, focused, blurred } = useListKeys(order, area, list, shown);
  useAnchor(order, area, list);
  useEffect(() => keepOnly((session) => lineOf(session) !== undefined), [order]);
  const readAhead = useCallback(() => {
    const handle = list.current;
    if (handle === null || !more || standing !== "ready") return;
    const last = handle.findItemIndex(handle.scrollOffset + handle.viewportSize);
    if (order.length - last < ROWS_BELOW) goOn();
  }, [order, more, standing]);
  useEffect(readAhead, [readAhead]);
  const draw = (at: number) => {
    const row: OneRow = order.row(at);
    if ("line" in row) {
      const { line } = row;
      const here = line.session === shown;
      return (
        <Row key={line.session} line={line} shelf={shelf} shown={here} reached={at === reached} now={now} />
      );
    }
    switch (row.kind) {
      case "top":
        return <div key="top">{top}</div>;
      case "pinned":
        return <h2 key="pinned">{i18n.t("Pinned")}</h2>;
      case "others":
        return <h2 key="others">{others.length > 0 && i18n.t("Sessions")}</h2>;
      default:
        return <End key="end" size={order.size} />;
    }
  };
  return (
    <div
      className="list"
      ref={area}
      onKeyDown={press}
      onFocus={focused}
      onBlur={blurred}
      onClickCapture={(event) => pickByClick(event, order)}
      onContextMenu={menuByClick}
    >
      <Virtualizer
        ref={list}
        data={{ length: order.length }}
        scrollRef={area}
        onScroll={readAhead}
        keepMounted={reached === undefined ? [0] : [0, reached]}
      >
        {(_, at) => draw(at)}
      </Virtualizer>
    </div>
  );
}

/** Ctrl+click selects one more session; Shift+click selects a range. */
function pickByClick(event: MouseEvent, order: Order): void {
  const session = sessionOf(event.target);
  const range = event.shiftKey;
  if (session === undefined || !(range || event.ctrlKey || event.metaKey)) return;
  if (!(event.target as HTMLElement).closest("[data-row]")) return;
  event.preventDefault();
  event.stopPropagation();
  const from = lineOf(picked.getState().from ?? "");
  const to = lineOf(session);
  const rows = [from, to].map((line) => (line === undefined ? undefined : order.rowOf(line)));
  if (range && rows[0] !== undefined && rows[1] !== undefined) pickRange(order.between(rows[0], rows[1]));
  else toggle(session);
}

function menuByClick(event: MouseEvent): void {
  const session = sessionOf(event.target);
  if (session === undefined) return;
  event.preventDefault();
  openMenu({ of: { session }, x: event.clientX, y: event.clientY });
}

function sessionOf(target: EventTarget): string | undefined {
  return (target as HTMLElement).closest<HTMLElement>("[data-session]")?.dataset["session"];
}

/** The end of the list: loading, an error, or an empty state. */
export function End({ size }: { size: number }) {
  const away = useKnown(({ link }) => link.kind === "away");
  const standing = useLists(({ standing }) => standing);
  const more = useLists(({ more }) => more);
  const view = useLists(({ view }) => view);
  if (standing === "failed") {
    return (
      <p className="none">
        {size === 0 ? i18n.t("Couldn't load the sessions.") : i18n.t("Couldn't load more sessions.")}{" "}
        <button type="button" className="btn sm" onClick={goOn}>
          {i18n.t("Try again")}
        </button>
      </p>
    );
  }
  // The connection also delivers the first page when the server is back.
  if (more && size === 0 && away)
    return <p className="dim none">{i18n.t("Your sessions appear when the server is back.")}</p>;
  if (more)
    return <p className="dim none">{size === 0 ? i18n.t("Loading sessions…") : i18n.t("Loading more…")}</p>;
  if (size > 0) return <div className="pad" />;
  return <p className="dim none">{nothingWords(view)}</p>;
}

function nothingWords({ shelf, state, project, tag }: View): string {
  if (shelf === "trash") return i18n.t("The trash is empty.");
  if (shelf === "archived") return i18n.t("No archived sessions.");
  if (state === "live") return i18n.t("No answers are being written right now.");
  if (state === "needs_you") return i18n.t("No sessions need you.");
  if (tag !== undefined) return i18n.t("No sessions with this tag.");
  if (project !== undefined) return i18n.t("No sessions in this project yet.");
  return i18n.t("No sessions yet.");
}

/** Keeps the scroll position while rows are inserted and removed above. */
function useAnchor(
  order: Order,
  area: RefObject<HTMLDivElement | null>,
  list: RefObject<VirtualizerHandle | null>,
): void {
  const before = useRef(order);
  useLayoutEffect(() => {
    const [was, scroller, handle] = [before.current, area.current, list.current];
    before.current = order;
    if (was === order || scroller === null || handle === null || scroller.scrollTop <= 0) return;
    const first = handle.findItemIndex(scroller.scrollTop);
    const last = handle.findItemIndex(scroller.scrollTop + handle.viewportSize);
    // Anchors to the first visible session that is still in the list.
    for (let at = first; at <= last; at += 1) {
      const line = was.lineAt(at);
      const place = line === undefined ? undefined : order.rowOf(line);
      if (place === undefined) continue;
      if (place !== at) scroller.scrollTop += handle.getItemOffset(place) - handle.getItemOffset(at);
      return;
    }
  }, [order, area, list]);
}
