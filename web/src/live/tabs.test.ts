// Three tabs of one browser, two users and a network that loses answers. Every message is saved exactly once
// and never sent as another user. None is left behind while a tab of its user is online.

import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStore, type StoreApi } from "zustand/vanilla";

import { Refused } from "../api/client";
import { forgetStorage, inMemory } from "../storage/local";
import { Outbox } from "./outbox";
import type { Known } from "./store";

interface Posted {
  key: string;
  text: string;
  session: string;
}

const browser = vi.hoisted(() => ({ ask: vi.fn<(path: string, body: unknown, key: string) => unknown>() }));
vi.mock("../api/client", async (original) => ({
  ...(await original<typeof import("../api/client")>()),
  ask: async (_: string, path: string, { body, key }: { body?: unknown; key?: string } = {}) =>
    browser.ask(path, body, key ?? ""),
}));

/** The server, and the network faults of the next requests. */
class Server {
  kept: Posted[] = [];
  online = true;
  /** Answers to lose on the way back. */
  lost = 0;
  /** Sessions that the server cannot write to. */
  broken = new Set<string>();

  post(path: string, text: string, key: string): { seq: number } {
    const session = path.split("/")[2] ?? "";
    if (!this.online) throw new TypeError("Failed to fetch");
    if (this.broken.has(session)) throw new Refused(500, "internal", "The server failed.");
    if (!this.kept.some((posted) => posted.key === key)) this.kept.push({ key, text, session });
    if (this.lost > 0) {
      this.lost -= 1;
      throw new TypeError("Failed to fetch");
    }
    return { seq: this.kept.findIndex((posted) => posted.key === key) + 1 };
  }
}

/** The locks of one browser. A closed tab releases its locks. */
class Locks {
  private readonly queues = new Map<string, { tab: Tab; run: () => void }[]>();

  of(tab: Tab): Pick<LockManager, "request"> {
    const request = async (name: string, work: () => Promise<void>) => {
      await new Promise<void>((granted) => this.join(name, { tab, run: granted }));
      try {
        // The work of a closed tab never completes.
        await Promise.race([work(), tab.closed]);
      } finally {
        this.leave(name);
      }
    };
    return { request } as unknown as LockManager;
  }

  private join(name: string, waiting: { tab: Tab; run: () => void }): void {
    const queue = this.queues.get(name) ?? [];
    this.queues.set(name, [...queue, waiting]);
    if (queue.length === 0) waiting.run();
  }

  private leave(name: string): void {
    const [, ...rest] = this.queues.get(name) ?? [];
    const left = rest.filter(({ tab }) => tab.open);
    this.queues.set(name, left);
    left[0]?.run();
  }
}

class Tab {
  open = true;
  close: () => void = () => undefined;
  readonly closed = new Promise<void>((done) => {
    this.close = () => {
      this.open = false;
      // Code that still runs in a closed tab sees no user.
      this.store.setState({ user: null });
      done();
    };
  });
  readonly store: StoreApi<Known>;
  readonly outbox: Outbox;

  constructor(
    readonly user: string,
    locks: Locks,
  ) {
    const known = { outbox: [], sessions: {}, user: { user }, fresh: {}, unsent: {} };
    this.store = createStore(() => known as unknown as Known);
    this.outbox = new Outbox(this.store, locks.of(this));
    this.outbox.load(user);
    this.outbox.deliver();
  }
}

type Act =
  | { act: "send"; tab: number; session: string }
  | { act: "close" | "reload" | "sleep"; tab: number }
  | { act: "offline" | "online" | "lose" | "other user" }
  | { act: "break" | "mend"; session: string };

const tab = fc.nat({ max: 2 });
const session = fc.constantFrom("a", "b");
const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ act: fc.constant("send" as const), tab, session }) },
  fc.record({ act: fc.constantFrom("close" as const, "reload" as const, "sleep" as const), tab }),
  fc.record({
    act: fc.constantFrom("offline" as const, "online" as const, "lose" as const, "other user" as const),
  }),
  fc.record({ act: fc.constantFrom("break" as const, "mend" as const), session }),
);

/** Running many stories is slow on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** One browser with its tabs. The last user to sign in, in any tab, is the user of all tabs. */
class World {
  readonly server = new Server();
  readonly locks = new Locks();
  user = "heron";
  tabs: Tab[] = [];
  sent: { text: string; user: string }[] = [];
  /** Each text with the user it was posted as. */
  posted: { text: string; user: string }[] = [];

  constructor() {
    const storage = inMemory();
    // Other tabs receive every change.
    const heard = (name: string) =>
      queueMicrotask(() =>
        this.tabs.filter(({ open }) => open).forEach(({ outbox }) => outbox.changed(name)),
      );
    vi.stubGlobal("localStorage", {
      get length() {
        return storage.length;
      },
      key: (at: number) => storage.key(at),
      getItem: (name: string) => storage.getItem(name),
      setItem: (name: string, text: string) => {
        storage.setItem(name, text);
        heard(name);
      },
      removeItem: (name: string) => {
        if (storage.getItem(name) === null) return;
        storage.removeItem(name);
        heard(name);
      },
    });
    forgetStorage();
    browser.ask.mockImplementation((path, body, key) => {
      const { text } = body as { text: string };
      const answer = this.server.post(path, text, key);
      this.posted.push({ text, user: this.user });
      return answer;
    });
    this.tabs = [0, 1, 2].map(() => new Tab(this.user, this.locks));
  }

  do(act: Act): void {
    const { server } = this;
    switch (act.act) {
      case "send": {
        const { user, open, outbox } = this.tabs[act.tab] as Tab;
        if (!open) return;
        const text = `message ${this.sent.length}`;
        this.sent.push({ text, user });
        return outbox.send({ session: `${user}-${act.session}`, text, attachments: [], mode: "queue" });
      }
      case "close":
        return (this.tabs[act.tab] as Tab).close();
      case "reload":
        (this.tabs[act.tab] as Tab).close();
        this.tabs[act.tab] = new Tab(this.user, this.locks);
        return;
      case "sleep":
        vi.setSystemTime(Date.now() + 60_000);
        return;
      case "offline":
      case "online":
        server.online = act.act === "online";
        return;
      case "lose":
        server.lost += 1;
        return;
      case "other user":
        // Signing in reloads every tab of the previous user.
        this.user = this.user === "heron" ? "tern" : "heron";
        this.tabs.forEach((tab) => tab.close());
        this.tabs = this.tabs.map(() => new Tab(this.user, this.locks));
        return;
      case "break":
        server.broken.add(`${this.user}-${act.session}`);
        return;
      case "mend":
        server.broken.clear();
    }
  }
}

test("every message is kept once, by its own user, in whichever tab it was sent", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(acts, fc.nat({ max: 3_000 })), { maxLength: 25 }), async (story) => {
      const world = new World();
      for (const [act, millis] of story) {
        world.do(act);
        await vi.advanceTimersByTimeAsync(millis);
      }
      // Both users come back, each with one tab.
      world.server.broken.clear();
      world.server.online = true;
      for (const user of ["heron", "tern"]) {
        world.user = user;
        world.tabs.forEach((tab) => tab.close());
        world.tabs = [new Tab(user, world.locks)];
        await vi.advanceTimersByTimeAsync(60_000);
      }
      const texts = world.server.kept.map(({ text }) => text).sort();
      expect(texts).toEqual(world.sent.map(({ text }) => text).sort());
      const own = new Map(world.sent.map(({ text, user }) => [text, user]));
      for (const { text, user } of world.posted) expect(own.get(text)).toBe(user);
      world.tabs.forEach((tab) => tab.close());
    }),
    { numRuns: 150 },
  );
});

test("a message of a tab that was closed goes out by another tab", async () => {
  const world = new World();
  world.server.online = false;
  world.do({ act: "send", tab: 0, session: "a" });
  await vi.advanceTimersByTimeAsync(1_000);
  world.do({ act: "close", tab: 0 });
  world.server.online = true;
  await vi.advanceTimersByTimeAsync(15_000);
  expect(world.server.kept).toHaveLength(1);
});

test("a session that the server cannot write to holds up no other", async () => {
  const world = new World();
  world.do({ act: "break", session: "a" });
  world.do({ act: "send", tab: 0, session: "a" });
  world.do({ act: "send", tab: 0, session: "b" });
  await vi.advanceTimersByTimeAsync(100);
  expect(world.server.kept.map(({ session }) => session)).toEqual(["heron-b"]);
  expect(world.tabs[0]?.store.getState().unsent["heron-a"]).toMatchObject({ problem: "internal" });
});

test("a message waits for its own user", async () => {
  const world = new World();
  world.server.online = false;
  world.do({ act: "send", tab: 0, session: "a" });
  world.do({ act: "other user" });
  world.server.online = true;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(world.posted).toEqual([]);
  world.do({ act: "other user" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(world.posted).toEqual([{ text: "message 0", user: "heron" }]);
});
