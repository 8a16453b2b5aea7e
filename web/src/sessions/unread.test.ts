import { describe, expect, it } from "vitest";

import type { Line } from "./types";
import { isUnread, together } from "./unread";

const line = (session: string, active_at: number) => ({ session, active_at }) as Line;

describe("what changed since it was shown", () => {
  it("is what happened after this device began, and after it was last shown", () => {
    const shown = { since: 10, sessions: { a: 20 } };
    expect(isUnread(shown, line("a", 20))).toBe(false);
    expect(isUnread(shown, line("a", 21))).toBe(true);
    expect(isUnread(shown, line("b", 10))).toBe(false);
    expect(isUnread(shown, line("b", 11))).toBe(true);
  });

  it("counts what any tab showed", () => {
    const both = together({ since: 1, sessions: { a: 5, b: 2 } }, { since: 2, sessions: { a: 3, c: 4 } });
    expect(both).toEqual({ since: 2, sessions: { a: 5, b: 2, c: 4 } });
  });

  it("forgets the oldest without making them new", () => {
    const many = Object.fromEntries(Array.from({ length: 1_200 }, (_, at) => [`s${at}`, at + 1]));
    const kept = together({ since: 0, sessions: many }, { since: 0, sessions: {} });
    expect(Object.keys(kept.sessions)).toHaveLength(1_000);
    for (const [session, at] of Object.entries(many)) expect(isUnread(kept, line(session, at))).toBe(false);
    expect(isUnread(kept, line("s5", 1_201))).toBe(true);
  });
});
