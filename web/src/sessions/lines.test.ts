import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { compare, Lines } from "./lines";
import { EVERYTHING, isIn, type Line } from "./types";

function line(session: string, rest: Partial<Line> = {}): Line {
  return {
    session,
    title: session,
    created_at: 1,
    active_at: 1,
    pinned: false,
    archived: false,
    trashed: false,
    tags: [],
    ...rest,
  };
}

const wanted = (line: Line) => isIn(EVERYTHING, line);
const lines = (held: ReadonlySet<string> = new Set()) => new Lines(wanted, held);

/** A session's versions, oldest first: the first is what a page read, the others were told, each with its seq. */
const history = fc.record({
  versions: fc.array(
    fc.record({
      active_at: fc.integer({ min: 1, max: 8 }),
      pinned: fc.boolean(),
      archived: fc.boolean(),
    }),
    { minLength: 1, maxLength: 4 },
  ),
  /** Whether a page told of it at all: it may have been made afterwards. */
  paged: fc.boolean(),
  erased: fc.boolean(),
});

describe("the sorted list", () => {
  it("is the same whatever order lines and pages come in", () => {
    fc.assert(
      fc.property(
        fc.array(history, { maxLength: 12 }),
        fc.integer({ min: 1, max: 4 }),
        fc.infiniteStream(fc.nat()),
        (histories, size, dice) => {
          const all = histories.map(({ versions, paged, erased }, at) => ({
            session: `s${at}`,
            paged: paged || versions.length === 1,
            erased,
            versions: versions.map((version, seq) =>
              line(`s${at}`, { ...version, ...(seq === 0 ? {} : { seq }) }),
            ),
          }));
          const read = all
            .filter(({ paged }) => paged)
            .map(({ versions }) => versions[0] as Line)
            .filter(wanted)
            .sort(compare);
          const pages: Line[][] = [];
          for (let at = 0; at < read.length; at += size) pages.push(read.slice(at, at + size));
          const list = lines();
          const roll = () => Number(dice.next().value);
          const told = all.flatMap(({ session, versions, erased }) => [
            ...versions.slice(1).map((version) => () => list.line(version)),
            ...(erased ? [() => list.gone(session)] : []),
          ]);
          // Pages come one after another; what is told comes in between, in any order, some of it twice.
          const moments = pages.map(roll).sort((one, other) => one - other);
          const steps = [
            ...pages.map((page, at) => ({ moment: moments[at] ?? 0, step: () => list.page(page, false) })),
            ...[...told, ...told.filter(() => roll() % 3 === 0)].map((step) => ({ moment: roll(), step })),
          ];
          for (const { step } of steps.sort((one, other) => one.moment - other.moment)) step();
          list.page([], true);
          const expected = all
            .filter(({ erased }) => !erased)
            .map(({ versions }) => versions.at(-1) as Line)
            .filter(wanted)
            .sort(compare);
          expect(list.shown()).toEqual({
            pins: expected.filter(({ pinned }) => pinned),
            others: expected.filter(({ pinned }) => !pinned),
          });
        },
      ),
      { numRuns: 200 },
    );
  });

  it("shows nothing below what pages have told, but pins wherever they stand", () => {
    const list = lines();
    list.page([line("a", { active_at: 9 }), line("b", { active_at: 8 })], false);
    list.line(line("old", { active_at: 2, seq: 5 }));
    list.line(line("pin", { active_at: 1, seq: 5, pinned: true }));
    const names = () => list.shown().others.map(({ session }) => session);
    expect(names()).toEqual(["a", "b"]);
    expect(list.shown().pins.map(({ session }) => session)).toEqual(["pin"]);
    list.page([line("c", { active_at: 3 })], false);
    expect(names()).toEqual(["a", "b", "c"]);
    list.page([], true);
    expect(names()).toEqual(["a", "b", "c", "old"]);
  });

  it("keeps the place of what is held until it is let go", () => {
    const held = new Set(["b"]);
    const list = lines(held);
    list.page([line("a", { active_at: 9 }), line("b", { active_at: 8 }), line("c", { active_at: 7 })], true);
    list.line(line("b", { active_at: 8, archived: true, seq: 2 }));
    list.line(line("c", { active_at: 7, archived: true, seq: 2 }));
    const names = () => list.shown().others.map(({ session }) => session);
    expect(names()).toEqual(["a", "b"]);
    held.delete("b");
    list.release("b");
    expect(names()).toEqual(["a"]);
    list.release("a");
    expect(names()).toEqual(["a"]);
  });

  it("looks at few lines for a change, however many there are", () => {
    const list = lines();
    let looks = 0;
    class Watched {
      constructor(readonly at: number) {}
      get active_at() {
        looks += 1;
        return this.at;
      }
    }
    const watched = (session: string, at: number, rest: Partial<Line> = {}): Line => {
      const { active_at: _, ...other } = line(session, rest);
      return Object.assign(new Watched(at), other);
    };
    list.page(
      Array.from({ length: 20_000 }, (_, at) => watched(`s${at}`, 1_000_000 - at)),
      true,
    );
    looks = 0;
    for (let at = 0; at < 1_000; at += 1)
      list.line(watched(`s${(at * 7_919) % 20_000}`, 2_000_000 + at, { seq: at + 1 }));
    expect(looks).toBeLessThan(1_000 * 200);
    expect(list.shown().others).toHaveLength(20_000);
    expect(list.shown().others[0]?.active_at).toBe(2_000_999);
  });
});
