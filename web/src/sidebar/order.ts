// Where each row of the list stands: what narrows it, headings, pins, all others, and the end. Rows are found by counting;
// nothing is made for those that are not looked at.

import { compare, placeOf } from "../sessions/lines";
import type { Line } from "../sessions/types";

export type Row =
  { kind: "top" } | { kind: "pinned" } | { kind: "others" } | { kind: "end" } | { line: Line };

export class Order {
  constructor(
    readonly pins: readonly Line[],
    readonly others: readonly Line[],
  ) {}

  /** Rows in all. */
  get length(): number {
    return this.othersFrom + this.others.length + 1;
  }

  /** Sessions in all. */
  get size(): number {
    return this.pins.length + this.others.length;
  }

  row(at: number): Row {
    const line = this.lineAt(at);
    if (line !== undefined) return { line };
    if (at === 0) return { kind: "top" };
    if (at === this.length - 1) return { kind: "end" };
    return { kind: at === 1 ? "pinned" : "others" };
  }

  /** The session that stands in a row. */
  lineAt(at: number): Line | undefined {
    if (at >= this.othersFrom) return this.others[at - this.othersFrom];
    return this.pins.length > 0 && at > 1 ? this.pins[at - 2] : undefined;
  }

  /** The row of a session as it is known; none when it stands elsewhere by now. */
  rowOf(line: Line): number | undefined {
    const place = foundAt(this.pins, line);
    if (place !== undefined) return place + 2;
    const among = foundAt(this.others, line);
    return among === undefined ? undefined : among + this.othersFrom;
  }

  /** The sessions from one row to another, in either direction. */
  between(one: number, other: number): string[] {
    const [from, to] = [Math.min(one, other), Math.max(one, other)];
    const found: string[] = [];
    for (let at = from; at <= to; at += 1) {
      const line = this.lineAt(at);
      if (line !== undefined) found.push(line.session);
    }
    return found;
  }

  /** The next row with a session, from one on; it ends where the list does. */
  step(from: number, by: 1 | -1): number | undefined {
    for (let at = from + by; at > 0 && at < this.length; at += by)
      if (this.lineAt(at) !== undefined) return at;
    return undefined;
  }

  private get othersFrom(): number {
    // The top, and the two headings and the pins when there are any.
    return this.pins.length > 0 ? this.pins.length + 3 : 1;
  }
}

function foundAt(lines: readonly Line[], line: Line): number | undefined {
  const place = placeOf(lines, line);
  const other = lines[place];
  return other !== undefined && compare(other, line) === 0 ? place : undefined;
}
