// Tabs of one browser that edit the same draft. However they type, close and reload, every word stays in some
// draft until it is sent or deleted.

import * as fc from "fast-check";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStore, type StoreApi } from "zustand/vanilla";

import { Refused } from "../api/client";
import type { Known } from "../live/store";
import { LocalDrafts } from "../storage/drafts";
import { forgetStorage, inMemory } from "../storage/local";
import { openTab } from "../storage/tab";
import { SessionDraft } from "./draft";

// Importing the real store needs a page.
vi.mock("../live/store", () => ({ DEVICE: "page", store: undefined }));

interface Put {
  text: string;
  base?: number;
  device: string;
}
const server = vi.hoisted(() => ({ put: vi.fn<(body: Put) => { revision: number }>() }));
vi.mock("../api/client", async (original) => ({
  ...(await original<typeof import("../api/client")>()),
  ask: async (_: string, __: string, { body }: { body: Put }) => server.put(body),
}));

const SESSION = "s";

/** The locks of one browser. A closed page releases its locks a moment later. */
class Locks {
  private readonly holders = new Map<string, number>();
  private readonly queues = new Map<string, (() => void)[]>();

  of(page: number): Pick<LockManager, "request"> {
    const request = (name: string, options: LockOptions, work: () => Promise<unknown>) =>
      typeof options === "function"
        ? this.take(page, name, options)
        : this.take(page, name, work, options.signal);
    return { request } as unknown as LockManager;
  }

  private async take(
    page: number,
    name: string,
    work: () => Promise<unknown>,
    signal?: AbortSignal,
  ): Promise<void> {
    while (this.holders.has(name)) {
      if (signal?.aborted === true) throw signal.reason;
      await new Promise<void>((next) => {
        this.queues.set(name, [...(this.queues.get(name) ?? []), next]);
        signal?.addEventListener("abort", () => next());
      });
    }
    this.holders.set(name, page);
    await work();
    this.free(name);
  }

  private free(name: string): void {
    this.holders.delete(name);
    for (const next of this.queues.get(name) ?? []) next();
    this.queues.delete(name);
  }

  close(page: number): void {
    setTimeout(() => {
      for (const [name, holder] of this.holders) if (holder === page) this.free(name);
    }, 20);
  }
}

/** One page load in a tab. */
class Page {
  readonly target = new EventTarget();
  readonly store: StoreApi<Known>;
  readonly drafts: LocalDrafts;
  readonly draft: SessionDraft;
  private readonly stop: () => void;

  constructor(
    readonly world: World,
    readonly values: Storage,
    readonly id: number,
  ) {
    const known = { link: { kind: "away", since: 0 }, fresh: {}, drafts: {} };
    this.store = createStore(() => known as unknown as Known);
    this.drafts = new LocalDrafts("heron", openTab(values, world.locks?.of(id), this.target));
    this.draft = new SessionDraft(SESSION, this.drafts, this.store, `page ${id}`);
    this.stop = this.draft.start();
  }

  hear(device: string | null): void {
    const { text, revision } = this.world.kept;
    const draft = { session: SESSION, text, revision, device };
    this.store.setState({ link: { kind: "open" }, drafts: { [SESSION]: draft } });
  }

  close(): void {
    this.drafts.flush();
    this.target.dispatchEvent(new Event("pagehide"));
    this.stop();
    this.world.locks?.close(this.id);
  }
}

interface TabAct {
  act: "type" | "prepend" | "empty" | "close" | "reload";
  tab: number;
}
type Act = TabAct | { act: "online" | "offline" };

class World {
  readonly locks: Locks | undefined;
  online = false;
  kept = { text: "", revision: 0 };
  pages: (Page | undefined)[] = [];
  private count = 0;
  /** Words that were typed and neither sent nor deleted. */
  readonly words = new Set<string>();
  readonly gone = new Set<string>();

  constructor({ locks }: { locks: boolean }) {
    vi.stubGlobal("localStorage", inMemory());
    forgetStorage();
    this.locks = locks ? new Locks() : undefined;
    this.pages = [0, 1, 2].map(() => this.open(inMemory()));
    server.put.mockImplementation(({ text, base, device }) => {
      if (!this.online) throw new TypeError("Failed to fetch");
      if (base !== undefined && base !== this.kept.revision)
        throw new Refused(409, "stale", "It was changed.");
      this.kept = { text, revision: this.kept.revision + 1 };
      for (const page of this.pages) page?.hear(device);
      return { revision: this.kept.revision };
    });
  }

  private open(values: Storage): Page {
    const page = new Page(this, values, (this.count += 1));
    if (this.online) page.hear(null);
    return page;
  }

  do(act: Act): void {
    if (!("tab" in act)) {
      this.online = act.act === "online";
      for (const page of this.pages)
        if (this.online) page?.hear(null);
        else page?.store.setState({ link: { kind: "away", since: 0 } });
      return;
    }
    const page = (this.pages[act.tab] ??= this.open(inMemory()));
    const { draft } = page;
    if (act.act === "type" || act.act === "prepend") {
      const word = `word${(this.count += 1)}.`;
      this.words.add(word);
      draft.write(act.act === "type" ? `${draft.text} ${word}` : `${word} ${draft.text}`);
    } else if (act.act === "empty") {
      for (const word of draft.text.match(/word\d+\./g) ?? []) {
        this.words.delete(word);
        this.gone.add(word);
      }
      draft.write("");
    } else {
      page.close();
      this.pages[act.tab] = act.act === "reload" ? this.open(page.values) : undefined;
    }
  }

  /** Closes every tab, opens a new one, and returns its draft. */
  async last(): Promise<string> {
    for (const page of this.pages) page?.close();
    await vi.advanceTimersByTimeAsync(1_000);
    const page = this.open(inMemory());
    this.pages = [page];
    await vi.advanceTimersByTimeAsync(10_000);
    return page.draft.text;
  }
}

const story = (...more: ("online" | "offline")[]) => {
  const tab = fc.nat({ max: 2 });
  const own = fc.constantFrom(
    "type" as const,
    "prepend" as const,
    "empty" as const,
    "close" as const,
    "reload" as const,
  );
  const acts: fc.Arbitrary<Act>[] = [fc.record({ act: own, tab })];
  if (more.length > 0) acts.push(fc.record({ act: fc.constantFrom(...more) }));
  return fc.array(fc.tuple(fc.oneof(...acts), fc.constantFrom(0, 10, 100, 700, 4_000)), { maxLength: 20 });
};

/** Running many stories is slow on a busy machine. */
vi.setConfig({ testTimeout: 60_000 });

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function tell(world: World, acts: readonly (readonly [Act, number])[]): Promise<string> {
  for (const [act, millis] of acts) {
    world.do(act);
    await vi.advanceTimersByTimeAsync(millis);
  }
  return world.last();
}

test("without the server every word stays, and none comes back that was sent or deleted", async () => {
  await fc.assert(
    fc.asyncProperty(story(), async (acts) => {
      const world = new World({ locks: true });
      const text = await tell(world, acts);
      for (const word of world.words) expect(text).toContain(word);
      for (const word of world.gone) expect(text).not.toContain(word);
      expect(localStorage).toHaveLength(text === "" ? 0 : 1);
    }),
    { numRuns: 200 },
  );
});

test("in a browser that cannot tell which tabs are open every word stays", async () => {
  await fc.assert(
    fc.asyncProperty(story(), async (acts) => {
      const world = new World({ locks: false });
      const text = await tell(world, acts);
      for (const word of world.words) expect(text).toContain(word);
    }),
    { numRuns: 200 },
  );
});

test("with a server that comes and goes every word stays", async () => {
  await fc.assert(
    fc.asyncProperty(story("online", "offline"), async (acts) => {
      const world = new World({ locks: true });
      await tell(world, acts);
      // A word may be on the server only.
      world.do({ act: "online" });
      await vi.advanceTimersByTimeAsync(10_000);
      const text = world.pages[0]?.draft.text;
      for (const word of world.words) expect(text).toContain(word);
    }),
    { numRuns: 200 },
  );
});

test("two tabs without the server keep what each wrote", async () => {
  const world = new World({ locks: true });
  const [one, other] = world.pages;
  one?.draft.write("a long thought in tab one");
  other?.draft.write("x");
  world.do({ act: "reload", tab: 0 });
  expect(world.pages[0]?.draft.text).toBe("a long thought in tab one");
  await vi.advanceTimersByTimeAsync(5_000);
  expect(world.pages[0]?.draft.text).toBe("a long thought in tab one");
  expect(await world.last()).toBe("a long thought in tab one\n\nx");
});
