import { beforeEach, describe, expect, it, vi } from "vitest";

import { forgetStorage, inMemory, names, read, readValue } from "./local";
import { migrate } from "./migrate";
import { actFor, KINDS, leftUsers, markLeft, placeOf, placesOf, wipeOwn, writeOwn } from "./own";

beforeEach(() => {
  vi.stubGlobal("localStorage", inMemory());
  forgetStorage();
});

const keep = (user: string) => {
  for (const kind of KINDS) writeOwn(placeOf(user, kind, "a"), `the ${kind} of ${user}`);
};

describe("content of users", () => {
  it("is not found by another user, whatever they are called", () => {
    for (const user of ["heron", "heron:a", "heron%3Aa"]) keep(user);
    expect(placesOf("heron", "draft")).toEqual(["draft:heron:a"]);
    expect(read(placeOf("heron:a", "draft", "a"))).toBe("the draft of heron:a");
  });

  it("is deleted with everything set aside, and that of others stays", () => {
    keep("heron");
    keep("tern");
    writeOwn(placeOf("heron", "outbox", "half"), '{"key":');
    readValue(placeOf("heron", "outbox", "half"), (_): _ is string => true);
    expect(names("broken:")).toHaveLength(1);
    wipeOwn("heron", "nothing");
    const left = names("").map((name) => read(name));
    expect(new Set(left)).toEqual(new Set(KINDS.map((kind) => `the ${kind} of tern`)));
  });

  it("is kept where the server does not have it, if the user wants that", () => {
    keep("heron");
    wipeOwn("heron", "unsent");
    const kinds = names("").map((name) => name.split(":")[0]);
    expect(new Set(kinds)).toEqual(new Set(["draft", "draft-base", "files", "new", "outbox"]));
  });
});

describe("a tab that is late", () => {
  it("writes nothing of a user who signed out, until they sign in again", () => {
    markLeft("heron", "nothing");
    keep("heron");
    keep("tern");
    expect(placesOf("heron", "draft")).toEqual([]);
    expect(placesOf("tern", "draft")).toHaveLength(1);
    expect(leftUsers()).toEqual(["heron"]);
    actFor("heron");
    keep("heron");
    expect(placesOf("heron", "draft")).toHaveLength(1);
  });

  it("writes only what the user kept", () => {
    markLeft("heron", "unsent");
    keep("heron");
    expect(placesOf("heron", "draft")).toHaveLength(1);
    expect(placesOf("heron", "model")).toEqual([]);
    expect(leftUsers()).toEqual([]);
  });
});

describe("the older layout", () => {
  it("is moved to its user once, and nobody else reads it", () => {
    const older: Record<string, string> = {
      "draft:s": "half a thought",
      "draft-base:s": "half",
      "files:s": "[]",
      "outbox:k": '{"key":"k","user":"tern"}',
      "outbox:half": '{"key":',
      "new:n": '{"session":"n","user":"tern"}',
      "model:s": "large",
      shown: '{"since":1,"sessions":{}}',
      "broken:outbox:x": "null",
    };
    for (const [name, text] of Object.entries(older)) localStorage.setItem(name, text);
    localStorage.setItem("language", "de");
    migrate("heron");
    const moved = names("");
    migrate("wren");
    expect(names("")).toEqual(moved);
    const [draft = ""] = placesOf("heron", "draft", "s");
    expect(read(draft)).toBe("half a thought");
    expect(read(draft.replace("draft:", "draft-base:"))).toBe("half");
    expect(read("files:heron:s")).toBe("[]");
    expect(read("outbox:tern:k")).toBe(older["outbox:k"]);
    expect(read("outbox:heron:half")).toBe(older["outbox:half"]);
    expect(read("new:tern:n")).toBe(older["new:n"]);
    expect(read("shown:heron")).toBe(older["shown"]);
    expect(read("broken:outbox:heron:x")).toBe("null");
    expect(moved).toHaveLength(Object.keys(older).length + 1);
  });
});
