import { describe, expect, it } from "vitest";

import type { Line } from "../sessions/types";
import { Order } from "./order";

function line(session: string, active_at: number, pinned = false): Line {
  const flags = { archived: false, trashed: false, pinned };
  return { session, title: session, created_at: 1, active_at, tags: [], ...flags };
}

const names = (order: Order) =>
  Array.from({ length: order.length }, (_, at) => {
    const row = order.row(at);
    return "line" in row ? row.line.session : `(${row.kind})`;
  });

describe("the rows of the list", () => {
  const pins = [line("p", 9, true), line("q", 1, true)];
  const others = [line("a", 8), line("b", 7), line("c", 6)];

  it("stand below headings when there are pins", () => {
    expect(names(new Order(pins, others))).toEqual([
      "(top)",
      "(pinned)",
      "p",
      "q",
      "(others)",
      "a",
      "b",
      "c",
      "(end)",
    ]);
    expect(names(new Order([], others))).toEqual(["(top)", "a", "b", "c", "(end)"]);
    expect(names(new Order(pins, []))).toEqual(["(top)", "(pinned)", "p", "q", "(others)", "(end)"]);
    expect(names(new Order([], []))).toEqual(["(top)", "(end)"]);
  });

  it("are found by their session", () => {
    const order = new Order(pins, others);
    for (const known of [...pins, ...others]) {
      const at = order.rowOf(known);
      expect(at === undefined ? undefined : order.lineAt(at)).toBe(known);
    }
    expect(order.rowOf(line("a", 99))).toBeUndefined();
    expect(order.rowOf(line("z", 7))).toBeUndefined();
    const archive = new Order([], [line("x", 5, true), line("y", 4)]);
    expect(archive.rowOf(line("x", 5, true))).toBe(1);
  });

  it("are gone through by steps and ranges that pass over headings", () => {
    const order = new Order(pins, others);
    expect(order.step(3, 1)).toBe(5);
    expect(order.step(5, -1)).toBe(3);
    expect(order.step(0, 1)).toBe(2);
    expect(order.step(7, 1)).toBeUndefined();
    expect(order.step(2, -1)).toBeUndefined();
    expect(order.between(6, 3)).toEqual(["q", "a", "b"]);
  });
});
