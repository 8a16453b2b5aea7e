import { describe, expect, it } from "vitest";

import { bySession, isNarrowed, NO_FILTERS, searchOf, type Hit } from "./hits";

function hit(session: string, turn: number | null, rest: Partial<Hit> = {}): Hit {
  const place = { archived: false, trashed: false, run: null, at: 1, title: `about ${session}` };
  return { session, turn, excerpt: [{ text: "heron", hit: true }], ...place, ...rest };
}

describe("what was found", () => {
  it("stands by session, in the order of the first of each", () => {
    const found = bySession([hit("b", 9), hit("a", 8), hit("b", 7), hit("c", 6), hit("a", 5)]);
    expect(found.map(({ session, turns }) => [session, turns.map(({ turn }) => turn)])).toEqual([
      ["b", [9, 7]],
      ["a", [8, 5]],
      ["c", [6]],
    ]);
    expect(found[0]?.title).toBe("about b");
  });

  it("keeps titles apart from turns", () => {
    const marked = [
      { text: "Rare ", hit: false },
      { text: "heron", hit: true },
    ];
    const [first, second] = bySession([
      hit("a", null, { excerpt: marked, archived: true }),
      hit("b", 3),
      hit("a", 2),
    ]);
    expect(first).toMatchObject({ session: "a", titleHit: marked, archived: true });
    expect(first?.turns.map(({ turn }) => turn)).toEqual([2]);
    expect(second?.titleHit).toBeUndefined();
  });

  it("tells a message and its answer apart, and each once", () => {
    const [found] = bySession([hit("a", 3, { run: 4 }), hit("a", 3), hit("a", 3, { run: 4 })]);
    expect(found?.turns.map(({ turn, run }) => [turn, run])).toEqual([
      [3, 4],
      [3, null],
    ]);
  });
});

describe("what is looked for", () => {
  it("is only what was chosen", () => {
    expect(searchOf("a heron", NO_FILTERS, 100, 0).toString()).toBe("words=a+heron&count=100");
    const now = Date.UTC(2026, 0, 8);
    const filters = { where: "trash", project: "p", tag: "wet & cold", saidBy: "agent", days: "7" } as const;
    const query = searchOf("x", filters, 5, now);
    expect(Object.fromEntries(query)).toEqual({
      words: "x",
      count: "5",
      shelf: "trash",
      project: "p",
      tag: "wet & cold",
      said_by: "agent",
      from: String(Date.UTC(2026, 0, 1) * 1_000),
    });
    expect([isNarrowed(NO_FILTERS), isNarrowed(filters)]).toEqual([false, true]);
  });
});
