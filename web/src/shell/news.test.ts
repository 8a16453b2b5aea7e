import { describe, expect, it } from "vitest";

import type { Waiting } from "../live/outbox";
import type { Line } from "../log/types";
import { sampleLine } from "../sessions/sampleLine";
import { answered, newsOf } from "./news";

const line = (session: string, more: Partial<Line> = {}) =>
  sampleLine(session, { title: session, run: null, ...more });

describe("news of the list", () => {
  it("are answers that finished", () => {
    const news = newsOf(line("a", { run: 3 }), line("a"));
    expect(news).toEqual({ session: "a", title: "a", what: "finished" });
    expect(newsOf(line("b"), line("b"))).toBeUndefined();
  });

  it("are sessions that wait for a person, once", () => {
    const waits = line("a", { needs: "failed" });
    expect(newsOf(line("a", { run: 3 }), waits)).toEqual({ session: "a", title: "a", what: "needs" });
    expect(newsOf(waits, line("a", { needs: "failed", pinned: true }))).toBeUndefined();
    // Somebody saw to it, and nothing came of that yet.
    expect(newsOf(waits, line("a"))).toBeUndefined();
  });

  it("are none while the next answer goes on", () => {
    expect(newsOf(line("a", { run: 3 }), line("a", { run: 4 }))).toBeUndefined();
    expect(newsOf(line("a"), line("a", { run: 1 }))).toBeUndefined();
  });

  it("are none of what was not known before", () => {
    expect(newsOf(undefined, line("a", { needs: "failed" }))).toBeUndefined();
  });
});

describe("what was sent here", () => {
  const waiting = (session: string, more: Partial<Waiting> = {}): Waiting => ({
    key: session,
    session,
    text: "",
    attachments: [],
    mode: "queue",
    at: 0,
    ...more,
  });

  it("is answered while its session is live, or it is on its way", () => {
    const sent = new Set(["a", "b", "c", "d"]);
    const list = [line("a", { run: 1 }), line("b"), line("x", { run: 1 })];
    const outbox = [waiting("c"), waiting("d", { refused: "no" })];
    expect(answered(sent, { list, outbox })).toEqual(["a", "c"]);
  });
});
