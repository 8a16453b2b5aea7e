// The sessions of one view, in order. Pages tell what was there when they were read, and the feed tells what changes: in
// whatever order they come, the same list stands at the end. One change costs a search by halves and one move in an array.

import type { Line } from "./types";

/** Where nothing more stands below. */
const BOTTOM = Number.NEGATIVE_INFINITY;

/** Latest activity first; those of the same moment in an order that every page agrees on. */
export function compare(one: Line, other: Line): number {
  if (one.active_at !== other.active_at) return other.active_at - one.active_at;
  if (one.created_at !== other.created_at) return other.created_at - one.created_at;
  return one.session < other.session ? -1 : one.session > other.session ? 1 : 0;
}

/** The place of a line in a sorted list, or where it would stand. */
export function placeOf(lines: readonly Line[], line: Line): number {
  let [low, high] = [0, lines.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const other = lines[middle];
    if (other !== undefined && compare(other, line) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Lines {
  private readonly known = new Map<string, Line>();
  private readonly pins: Line[] = [];
  private readonly others: Line[] = [];
  /** What the feed told last of each session; none of one that was erased. A page never knows better. */
  private readonly heard = new Map<string, Line | undefined>();
  /** The activity of the last line that pages brought: what stands below is not known whole. */
  private bottom = Number.POSITIVE_INFINITY;

  constructor(
    private readonly wants: (line: Line) => boolean,
    /** Sessions that keep their place although they left the view. */
    private readonly held: ReadonlySet<string>,
    private readonly pinsFirst = true,
  ) {}

  /** How far down pages have come. */
  get reached(): number {
    return this.bottom;
  }

  get(session: string): Line | undefined {
    return this.known.get(session);
  }

  /** Takes a page in; the last one ends the list. */
  page(lines: readonly Line[], last: boolean): void {
    this.add(lines);
    const end = last ? BOTTOM : (lines.at(-1)?.active_at ?? this.bottom);
    this.bottom = Math.min(this.bottom, end);
  }

  /** Takes lines in that stand anywhere, such as pins. */
  add(lines: readonly Line[]): void {
    for (const line of lines) if (!this.heard.has(line.session)) this.put(line);
  }

  /** Takes in what changed. */
  line(line: Line): void {
    const heard = this.heard.get(line.session);
    if (heard === undefined && this.heard.has(line.session)) return;
    if (heard !== undefined && (heard.seq ?? 0) > (line.seq ?? 0)) return;
    this.heard.set(line.session, line);
    this.put(line);
  }

  gone(session: string): void {
    this.heard.set(session, undefined);
    this.remove(session);
  }

  /** Lets a session go that kept its place. */
  release(session: string): void {
    const line = this.known.get(session);
    if (line !== undefined && !this.wants(line)) this.remove(session);
  }

  /** What can be shown: pins, and the others as far down as they are known whole. Copies, which never change. */
  shown(): { pins: Line[]; others: Line[] } {
    const bottom = this.bottom;
    let end = this.others.length;
    while (end > 0 && (this.others[end - 1]?.active_at ?? 0) < bottom) end -= 1;
    return { pins: this.pins.slice(), others: this.others.slice(0, end) };
  }

  private put(line: Line): void {
    this.remove(line.session);
    if (!this.wants(line) && !this.held.has(line.session)) return;
    this.known.set(line.session, line);
    const lines = this.rangeOf(line);
    lines.splice(placeOf(lines, line), 0, line);
  }

  private remove(session: string): void {
    const line = this.known.get(session);
    if (line === undefined) return;
    this.known.delete(session);
    const lines = this.rangeOf(line);
    lines.splice(placeOf(lines, line), 1);
  }

  private rangeOf(line: Line): Line[] {
    return this.pinsFirst && line.pinned ? this.pins : this.others;
  }
}
