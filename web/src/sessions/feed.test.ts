import { describe, expect, it } from "vitest";

import { Feed } from "./feed";
import { EVERYTHING, type Line, type Page } from "./types";

const SIZE = 2;

function line(session: string, active_at: number, rest: Partial<Line> = {}): Line {
  const flags = { pinned: false, archived: false, trashed: false };
  return { session, title: session, created_at: 1, active_at, tags: [], ...flags, ...rest };
}

/** A server with a list of its own, which answers when it is let. */
class Server {
  lines: Line[] = [];
  down = false;
  asked = 0;

  page = async (_: unknown, before: string | undefined): Promise<Page> => {
    this.asked += 1;
    const from = before === undefined ? 0 : this.lines.findIndex(({ session }) => session === before) + 1;
    const sessions = this.lines.slice(from, from + SIZE);
    await Promise.resolve();
    if (this.down) throw new TypeError("no network");
    return { sessions, next: sessions.length < SIZE ? null : (sessions.at(-1)?.session ?? null) };
  };

  pins = async (): Promise<Line[]> => this.lines.filter(({ pinned }) => pinned);
}

function setUp() {
  const server = new Server();
  server.lines = [line("e", 5), line("d", 4), line("c", 3), line("b", 2), line("a", 1)];
  const feed = new Feed(EVERYTHING, server, new Set(), () => undefined);
  const names = () =>
    feed
      .shown()
      .others.map(({ session }) => session)
      .join("");
  return { server, feed, names };
}

describe("a view of the list", () => {
  it("asks for a page at a time, to the end", async () => {
    const { server, feed, names } = setUp();
    await feed.open();
    expect(names()).toBe("ed");
    await Promise.all([feed.ask(), feed.ask()]);
    expect(names()).toBe("edcb");
    await feed.ask();
    expect(names()).toBe("edcba");
    expect(feed.more).toBe(false);
    await feed.ask();
    expect(server.asked).toBe(3);
  });

  it("reads as much anew as it showed, and forgets what is no longer there", async () => {
    const { server, feed, names } = setUp();
    await feed.open();
    await feed.ask();
    server.lines = server.lines.filter(({ session }) => session !== "c");
    const opened = feed.open();
    feed.line(line("z", 9, { seq: 7 }));
    expect(names()).toBe("zedcb");
    await opened;
    expect(names()).toBe("zedba");
  });

  it("shows pins that no page has told of, and keeps them while it is read anew", async () => {
    const { server, feed } = setUp();
    server.lines.push(line("p", 0, { pinned: true }));
    const pins = () => feed.shown().pins.map(({ session }) => session);
    await feed.open();
    expect(pins()).toEqual(["p"]);
    const opened = feed.open();
    const seen: string[][] = [];
    for (let tick = 0; tick < 12; tick += 1) {
      seen.push(pins());
      await Promise.resolve();
    }
    await opened;
    expect(seen.every((pins) => pins.length === 1)).toBe(true);
  });

  it("says when a page does not come, keeps what it has, and asks again", async () => {
    const { server, feed, names } = setUp();
    await feed.open();
    server.down = true;
    await feed.ask();
    expect(feed.state).toBe("failed");
    expect(names()).toBe("ed");
    server.down = false;
    await feed.ask();
    expect(names()).toBe("edcb");
    server.down = true;
    await feed.open();
    expect([feed.state, names()]).toEqual(["failed", "edcb"]);
    server.down = false;
    server.lines.splice(1, 1);
    await feed.ask();
    expect([feed.state, names()]).toEqual(["ready", "ecba"]);
  });
});
