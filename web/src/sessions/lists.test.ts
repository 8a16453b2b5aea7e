import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { sampleLine } from "./sampleLine";

const line = (session: string) => sampleLine(session, { needs: "failed" });

const COUNTS = { active: 3, archived: 0, trash: 0, live: 0, needs_you: 3 };

beforeEach(() => {
  vi.stubGlobal("document", { visibilityState: "visible", addEventListener: () => undefined });
  vi.stubGlobal("requestAnimationFrame", (work: () => void) => setTimeout(work, 0));
  vi.stubGlobal("cancelAnimationFrame", clearTimeout);
  vi.stubGlobal("fetch", (path: string) => {
    if (path.includes("before=")) return Promise.resolve(Response.json({ sessions: [line("b"), line("c")] }));
    if (path.includes("counts")) return Promise.resolve(Response.json(COUNTS));
    return Promise.resolve(Response.json({ sessions: [], projects: [], tags: [] }));
  });
});

afterEach(() => vi.unstubAllGlobals());

it("counts a session once, whether its page is here or not", async () => {
  const { goOn, listed, lists } = await import("./lists");
  listed({ sessions: [line("a")], next: "a" });
  await vi.waitFor(() => expect(lists.getState().happening.needs_you).toBe(3));
  const seen: number[] = [];
  lists.subscribe(({ happening }) => seen.push(happening.needs_you));
  goOn();
  await vi.waitFor(() => expect(lists.getState().others).toHaveLength(3));
  expect(new Set(seen)).toEqual(new Set([3]));
});
