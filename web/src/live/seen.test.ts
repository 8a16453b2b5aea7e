import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createStore, type StoreApi } from "zustand/vanilla";

import { EMPTY } from "../log/empty";
import type { State, Turn } from "../log/types";
import { Database } from "../storage/database";
import { forgetStorage, inMemory } from "../storage/local";
import { Replica, type Seen } from "./seen";
import type { Known } from "./store";

const disk = vi.hoisted(() => new Map<string, unknown>());
const setMany = vi.hoisted(() => vi.fn<(values: [string, unknown][]) => void>());
vi.mock("idb-keyval", () => ({
  get: async (name: string) => disk.get(name),
  getMany: async (names: string[]) => names.map((name) => disk.get(name)),
  keys: async () => [...disk.keys()],
  delMany: async (names: string[]) => names.forEach((name) => disk.delete(name)),
  setMany: async (values: [string, unknown][]) => {
    setMany(values);
    for (const [name, value] of values) disk.set(name, value);
  },
}));

let store: StoreApi<Known>;
const has = vi.fn(async () => true);

function page(): Replica {
  store = createStore(() => ({ lost: {} }) as unknown as Known);
  return new Replica(store, () => new Database("heron"), has);
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
  disk.clear();
  setMany.mockClear();
  has.mockReset().mockResolvedValue(true);
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const turn = (id: number, text = `message ${id}`): Turn =>
  ({ id, message: { text }, runs: [], mode: "queue" }) as unknown as Turn;
const stateAt = (seq: number, ...turns: Turn[]): State => ({ ...EMPTY, link: { ...EMPTY.link, seq }, turns });
const shown = (seq: number, ...turns: Turn[]) => ({ state: stateAt(seq, ...turns), hash: [seq, 0] });

/** Shows these states to a new page, one per second. */
async function visit(...states: ReturnType<typeof shown>[]): Promise<Replica> {
  const replica = page();
  const [first] = states;
  if (first !== undefined) await replica.arrived("s", first);
  for (const state of states) {
    replica.shown("s", state);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  return replica;
}

const written = () => setMany.mock.calls.map(([values]) => values.map(([name]) => name));

describe("while a turn streams", () => {
  it("writes that turn alone", async () => {
    const [one, two] = [turn(1), turn(2)];
    await visit(shown(2, one, two), shown(3, one, turn(2, "more")), shown(4, one, turn(2, "and more")));
    expect(written()).toEqual([
      ["seen:heron:s", "turn:heron:s:1", "turn:heron:s:2"],
      ["seen:heron:s", "turn:heron:s:2"],
      ["seen:heron:s", "turn:heron:s:2"],
    ]);
  });

  it("deletes the turns that are no longer among the last", async () => {
    const turns = Array.from({ length: 10 }, (_, at) => turn(at + 1));
    await visit(shown(2, ...turns.slice(0, 8)), shown(3, ...turns));
    const kept = [...disk.keys()].filter((name) => name.startsWith("turn:"));
    expect(kept.sort()).toEqual(
      turns
        .slice(2)
        .map(({ id }) => `turn:heron:s:${id}`)
        .sort(),
    );
  });

  it("writes the last moment when the page is closed", async () => {
    const replica = await visit(shown(2, turn(1)));
    replica.shown("s", shown(3, turn(1, "the last word")));
    replica.flush();
    await vi.advanceTimersByTimeAsync(0);
    expect(disk.get("seen:heron:s")).toMatchObject({ seq: 3, hash: [3, 0] });
    expect(disk.get("turn:heron:s:1")).toMatchObject({ message: { text: "the last word" } });
  });
});

describe("a later visit", () => {
  const lost = () => store.getState().lost["s"];
  const SHOWN = shown(5, turn(1, "what was shown"));

  it("shows nothing if the server still has everything", async () => {
    await visit(SHOWN);
    await visit(shown(9, turn(1)));
    expect(has).toHaveBeenCalledWith("s", 5, [5, 0]);
    expect(lost()).toBeUndefined();
  });

  it.each([
    ["has less", shown(3, turn(1))],
    ["has another entry there", { ...shown(5, turn(1)), hash: [5, 9] }],
    ["grew past it with other entries", shown(9, turn(1))],
  ])("shows what was lost if the server %s", async (_, state) => {
    await visit(SHOWN);
    has.mockResolvedValue(false);
    await visit(state);
    expect(lost()?.turns).toMatchObject([{ message: { text: "what was shown" } }]);
    // The lost turns stay after a reload, until the user discards them.
    await visit(state);
    expect(lost()?.seq).toBe(5);
  });

  it("reads what an older version kept", async () => {
    const older: Seen = {
      seq: 5,
      at: 1,
      turns: [{ turn: 1, message: { text: "older" } }] as unknown as Seen["turns"],
    };
    disk.set("seen:heron:s", older);
    await visit(shown(3));
    expect(lost()?.turns).toEqual(older.turns);
  });

  it("has nothing of a session that was erased, nor of another user", async () => {
    disk.set("lost:heron:s", { seq: 1, at: 1, turns: [] });
    const replica = await visit(SHOWN);
    disk.set("seen:tern:s", {});
    await replica.forget("s");
    expect([...disk.keys()]).toEqual(["seen:tern:s"]);
    expect(lost()).toBeUndefined();
  });
});
