import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { localDrafts } from "../storage/drafts";
import { forgetStorage, inMemory, names } from "../storage/local";
import { actFor, placeOf, writeOwn } from "../storage/own";
import { isNothing, signOut, unsent } from "./signout";

const disk = vi.hoisted(() => new Map<string, unknown>());
vi.mock("idb-keyval", () => ({
  keys: async () => [...disk.keys()],
  delMany: async (names: string[]) => names.forEach((name) => disk.delete(name)),
}));
const server = vi.hoisted(() => ({ ask: vi.fn<() => Promise<void>>() }));
vi.mock("../api/client", () => ({ ask: server.ask }));
const endLogin = vi.hoisted(() => vi.fn());
// Importing the real store needs a page.
vi.mock("./store", () => ({ endLogin, outbox: { count: () => names("outbox:heron:").length } }));

const assign = vi.fn();

beforeEach(() => {
  vi.stubGlobal("localStorage", inMemory());
  vi.stubGlobal("location", { assign });
  forgetStorage();
  localDrafts().discard();
  disk.clear();
  vi.clearAllMocks();
  server.ask.mockResolvedValue();
  actFor("heron");
});

afterEach(() => vi.unstubAllGlobals());

const keep = (kind: "draft" | "draft-base" | "outbox" | "model", text: string, ...rest: string[]) =>
  writeOwn(placeOf("heron", kind, ...rest), text);

describe("what is on this device only", () => {
  it("is nothing if the server has all of it", async () => {
    keep("draft", "half", "s", "t");
    keep("draft-base", "half", "s", "t");
    expect(isNothing(await unsent())).toBe(true);
  });

  it("is counted: messages, drafts of any tab, files and lost turns", async () => {
    keep("outbox", "{}", "k");
    keep("draft", "half", "s", "t");
    keep("draft", "half", "s", "u");
    localDrafts().keep("r", { text: "a moment ago", base: "" });
    writeOwn(placeOf("heron", "files", "s"), '[{"id":"f","name":"n","media_type":"m"}]');
    disk.set("lost:heron:s", {});
    expect(await unsent()).toEqual({ messages: 1, drafts: 2, files: 1, lost: 1 });
  });
});

describe("signing out", () => {
  beforeEach(() => {
    keep("draft", "half", "s", "t");
    keep("draft", "saved", "r", "t");
    keep("draft-base", "saved", "r", "t");
    keep("model", "large", "s");
    keep("outbox", "{}", "k");
    disk.set("seen:heron:s", {}).set("lost:heron:s", {}).set("seen:tern:s", {});
  });

  it("deletes nothing if the server is unreachable", async () => {
    const before = names("");
    server.ask.mockRejectedValue(new TypeError("Failed to fetch"));
    await expect(signOut("nothing")).rejects.toThrow("Failed to fetch");
    expect(names("")).toEqual(before);
    expect(disk.size).toBe(3);
    expect(assign).not.toHaveBeenCalled();
  });

  it("deletes everything of the user, and what a late tab would write", async () => {
    localDrafts().keep("s", { text: "a moment ago", base: "" });
    await signOut("nothing");
    localDrafts().flush();
    localDrafts().keep("s", { text: "too late", base: "" });
    localDrafts().flush();
    expect(names("")).toEqual(["left:heron"]);
    expect([...disk.keys()]).toEqual(["seen:tern:s"]);
    expect(endLogin).toHaveBeenCalledOnce();
    expect(assign).toHaveBeenCalledWith("/");
  });

  it("keeps what the server does not have, if the user wants that", async () => {
    await signOut("unsent");
    expect(names("").sort()).toEqual(["draft:heron:s:t", "left:heron", "outbox:heron:k"]);
    expect([...disk.keys()]).toEqual(["lost:heron:s", "seen:tern:s"]);
  });
});
