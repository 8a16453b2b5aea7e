import { beforeEach, describe, expect, it, vi } from "vitest";
import { createStore, type StoreApi } from "zustand/vanilla";

import { EMPTY } from "../log/empty";
import type { Entry, State } from "../log/types";
import type { Said } from "./connection";
import { Following } from "./following";
import type { Known } from "./store";

let said: Said[];
let store: StoreApi<Known>;
let frame: () => void;
let following: Following;
const replica = { arrived: vi.fn(), exceeded: vi.fn(), shown: vi.fn(), leave: vi.fn() };

beforeEach(() => {
  said = [];
  const known = { sessions: {}, drafts: {}, unknown: {}, lost: {} };
  store = createStore(() => known as unknown as Known);
  vi.clearAllMocks();
  following = new Following({
    store,
    say: (one) => said.push(one),
    outbox: { arrived: vi.fn(), reached: vi.fn() },
    replica,
    soon: (work) => {
      frame = work;
      return () => undefined;
    },
  });
});

const HASH = [1, 2, 3, 4];
const stateAt = (seq: number): State => ({ ...EMPTY, link: { ...EMPTY.link, seq, hash: HASH } });
const entry = (seq: number): Entry => ({ seq, time: seq, event: { zz: {} } }) as unknown as Entry;
const follows = () => said.flatMap((one) => ("follow" in one ? [one.follow] : []));

function came(
  session: string,
  seqs: readonly number[],
  { caught_up = false, hash = [seqs.at(-1) ?? 0] } = {},
) {
  following.entries({ session, entries: seqs.map(entry), caught_up, hash: seqs.length > 0 ? hash : null });
}

function shows(session: string, seq = 1): () => void {
  const leave = following.follow(session);
  following.snapshot({ session, state: stateAt(seq) });
  return leave;
}

describe("sessions that were left", () => {
  it("stay while they are among the last ten, with nothing of the others", () => {
    for (let at = 0; at < 12; at += 1) {
      const leave = shows(`s${at}`);
      store.setState(
        ({ drafts, lost }) =>
          ({
            drafts: { ...drafts, [`s${at}`]: {} },
            lost: { ...lost, [`s${at}`]: {} },
          }) as unknown as Known,
      );
      leave();
    }
    const ten = Array.from({ length: 10 }, (_, at) => `s${at + 2}`);
    const { sessions, drafts, lost } = store.getState();
    for (const kept of [sessions, lost]) expect(Object.keys(kept)).toEqual(ten);
    expect(drafts).toEqual({});
    expect(replica.leave.mock.calls.flat()).toEqual(["s0", "s1"]);
  });

  it("stay as long as anything shows them, however many are left after them", () => {
    const [one, other] = [shows("shown"), following.follow("shown")];
    one();
    for (let at = 0; at < 12; at += 1) shows(`s${at}`)();
    expect(store.getState().sessions["shown"]).toBeDefined();
    other();
    expect(said.at(-1)).toEqual({ leave: { session: "shown" } });
  });

  it("go on from where they were, and are not caught up until then", () => {
    shows("a", 3)();
    expect(store.getState().sessions["a"]?.caughtUp).toBe(false);
    following.follow("a");
    expect(said.at(-1)).toEqual({ follow: { session: "a", after: 3, hash: HASH } });
    came("a", [4], { caught_up: true });
    frame();
    expect(store.getState().sessions["a"]?.caughtUp).toBe(true);
  });

  it("are not brought back by frames that were on their way", () => {
    shows("a")();
    for (let at = 0; at < 10; at += 1) shows(`s${at}`)();
    following.snapshot({ session: "a", state: stateAt(2) });
    expect(store.getState().sessions["a"]).toBeUndefined();
  });
});

it("nothing is caught up once the connection is gone", () => {
  shows("a");
  following.closed();
  expect(store.getState().sessions["a"]?.caughtUp).toBe(false);
});

describe("a session with a gap", () => {
  it("is asked for once, however many entries are on their way", () => {
    shows("a", 1);
    said = [];
    for (const seq of [5, 6, 7]) {
      came("a", [seq]);
      frame();
    }
    following.cutOff("a");
    expect(follows()).toEqual([{ session: "a", after: 1, hash: HASH }]);
    // The server answers with an empty frame first.
    came("a", []);
    came("a", [2, 3]);
    came("a", [9]);
    frame();
    expect(follows()).toHaveLength(2);
  });

  it("is asked for again over a new connection", () => {
    shows("a", 1);
    following.cutOff("a");
    said = [];
    following.closed();
    following.opened();
    expect(follows()).toHaveLength(1);
  });

  it("is requested after the last entry received before the cut", () => {
    shows("a", 1);
    came("a", [2, 3]);
    following.cutOff("a");
    expect(follows().at(-1)).toEqual({ session: "a", after: 3, hash: [3] });
  });
});

it("a repeat of old entries does not change the hash of the newest", () => {
  shows("a", 3);
  came("a", [2], { hash: [2] });
  frame();
  expect(store.getState().sessions["a"]).toMatchObject({ hash: HASH });
});

it("a server with another log replaces the session, and the replica keeps the turns that were shown", () => {
  shows("a", 3);
  said = [];
  following.refused("a", { code: "another_log" });
  expect(replica.exceeded).toHaveBeenCalledWith("a", expect.objectContaining({ hash: HASH }));
  expect(said).toEqual([{ follow: { session: "a" } }]);
});
