import { beforeEach, expect, test, vi } from "vitest";

import { Database, moveOlder } from "./database";
import { forgetStorage, inMemory } from "./local";
import { markLeft } from "./own";

const disk = vi.hoisted(() => new Map<string, unknown>());
vi.mock("idb-keyval", () => ({
  get: async (name: string) => disk.get(name),
  getMany: async (names: string[]) => names.map((name) => disk.get(name)),
  keys: async () => [...disk.keys()],
  delMany: async (names: string[]) => names.forEach((name) => disk.delete(name)),
  setMany: async (values: [string, unknown][]) => values.forEach(([name, value]) => disk.set(name, value)),
}));

beforeEach(() => {
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
  disk.clear();
});

const all = (user: string) =>
  new Database(user).write([
    ["seen", ["s"], "end"],
    ["turn", ["s", "1"], "words"],
    ["lost", ["s"], "words"],
    ["file", ["f"], "bytes"],
  ]);

test("a user's values are deleted, and those of others stay", async () => {
  for (const user of ["heron", "heron:s", "tern"]) await all(user);
  await new Database("heron").wipe("nothing");
  expect([...disk.keys()].filter((name) => name.includes(":heron:"))).toEqual([]);
  expect(disk.size).toBe(8);
  await new Database("tern").wipe("unsent");
  expect([...disk.keys()].filter((name) => name.includes(":tern:"))).toEqual(["lost:tern:s", "file:tern:f"]);
});

test("a tab that is late writes nothing after the user signed out", async () => {
  markLeft("heron", "nothing");
  await all("heron");
  expect(disk.size).toBe(0);
  markLeft("tern", "unsent");
  await new Database("tern").write([["seen", ["s"], "end"]]);
  await new Database("tern").write([["lost", ["s"], "words"]]);
  expect([...disk.keys()]).toEqual(["lost:tern:s"]);
});

test("values of the older layout are moved to their user before anything is read", async () => {
  for (const name of ["seen:s", "lost:s", "file:f"]) disk.set(name, name);
  void moveOlder("heron");
  expect(await new Database("heron").read("lost", "s")).toBe("lost:s");
  void moveOlder("tern");
  expect(await new Database("tern").read("lost", "s")).toBeUndefined();
  expect([...disk.keys()]).toEqual(["seen:heron:s", "lost:heron:s", "file:heron:f"]);
});
