import { beforeEach, describe, expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import { Refused } from "../api/client";
import { forgetStorage, inMemory } from "../storage/local";
import type { Fresh } from "./fresh";
import { Outbox } from "./outbox";
import type { Known } from "./store";

interface Asked {
  method: string;
  path: string;
  body: unknown;
}

const server = vi.hoisted(() => ({ ask: vi.fn<(asked: Asked) => Promise<unknown>>() }));
vi.mock("../api/client", async (original) => ({
  ...(await original<typeof import("../api/client")>()),
  ask: (method: string, path: string, { body }: { body?: unknown } = {}) =>
    server.ask({ method, path, body }),
}));

const exists = new Refused(409, "session_exists", "The id is in use.");
const missing = new Refused(404, "no_such_session", "There is no such session.");
const MESSAGE = { session: "a", text: "hello", attachments: [], mode: "queue" as const };

let asked: string[];

function outboxWith(fresh: Partial<Fresh>) {
  const known = {
    outbox: [],
    sessions: {},
    user: { user: "heron" },
    fresh: { a: { session: "a", user: "heron", ...fresh } },
    unsent: {},
  };
  const store = createStore(() => known as unknown as Known);
  return { store, outbox: new Outbox(store, undefined) };
}

/** Answers each request in turn by what is given for it; all others are taken. */
function answering(answers: Record<string, unknown[]>) {
  server.ask.mockImplementation(({ method, path, body }) => {
    asked.push(`${method} ${path} ${JSON.stringify(body)}`);
    const answer = answers[`${method} ${path}`]?.shift() ?? { seq: 2 };
    return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
  });
}

beforeEach(() => {
  asked = [];
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
});

const POST = 'POST /sessions/a/messages {"text":"hello","attachments":[],"mode":"queue"}';

describe("the first message of a new session", () => {
  it("is sent after the session was created where it belongs", async () => {
    answering({});
    const { store, outbox } = outboxWith({ after: "b", project: "p" });
    outbox.send(MESSAGE);
    await vi.waitFor(() => expect(store.getState().outbox[0]?.kept).toBe(2));
    expect(asked).toEqual([
      'POST /sessions {"id":"a","after":"b"}',
      'PATCH /sessions/a {"project":"p"}',
      POST,
    ]);
    expect(store.getState().fresh).toEqual({});
  });

  it("creates the session once, whatever was lost on the way", async () => {
    const lost = new TypeError("Failed to fetch");
    answering({ "POST /sessions": [lost, exists], "POST /sessions/a/messages": [lost] });
    const { store, outbox } = outboxWith({});
    outbox.send(MESSAGE);
    await vi.waitFor(() => expect(store.getState().outbox[0]?.kept).toBe(2), 5_000);
    const create = 'POST /sessions {"id":"a"}';
    expect(asked).toEqual([create, create, POST, POST]);
  });

  it("goes out although the session before it and its project are gone", async () => {
    answering({ "POST /sessions": [missing], "PATCH /sessions/a": [missing] });
    const { store, outbox } = outboxWith({ after: "b", project: "p" });
    outbox.send(MESSAGE);
    await vi.waitFor(() => expect(store.getState().outbox[0]?.kept).toBe(2));
    expect(asked[1]).toBe('POST /sessions {"id":"a"}');
    expect(asked.at(-1)).toBe(POST);
  });

  it("is refused when the session is", async () => {
    answering({ "POST /sessions": [new Refused(403, "forbidden", "You may not write.")] });
    const { store, outbox } = outboxWith({});
    outbox.send(MESSAGE);
    await vi.waitFor(() => expect(store.getState().outbox[0]?.refused).toBe("forbidden"));
    expect(asked).toHaveLength(1);
  });
});

describe("a message on this device", () => {
  it("has what its session is created with beside it", () => {
    answering({ "POST /sessions": [new TypeError("Failed to fetch")] });
    const { outbox } = outboxWith({ project: "p" });
    outbox.send(MESSAGE);
    const kept = JSON.parse(localStorage.getItem("new:heron:a") ?? "null") as unknown;
    expect(kept).toEqual({ session: "a", user: "heron", project: "p" });
  });

  it("asks the browser to keep its storage if the server is away", () => {
    answering({});
    const persist = vi.fn(async () => true);
    vi.stubGlobal("navigator", { storage: { persist } });
    const { store, outbox } = outboxWith({});
    outbox.send(MESSAGE);
    expect(persist).not.toHaveBeenCalled();
    store.setState({ link: { kind: "away", since: 0 } });
    outbox.send(MESSAGE);
    outbox.send(MESSAGE);
    expect(persist).toHaveBeenCalledOnce();
    vi.unstubAllGlobals();
  });

  it("is shown and sent only to the user that wrote it", () => {
    answering({});
    const { store, outbox } = outboxWith({});
    outbox.send(MESSAGE);
    outbox.load("tern");
    expect(store.getState().outbox).toEqual([]);
    outbox.load("heron");
    expect(store.getState().outbox).toHaveLength(1);
  });
});
