import { afterEach, describe, expect, it, vi } from "vitest";

import { fit, fitting, wordsOf } from "./find";
import { isPlain, matches } from "./keys";
import { add, allCommands, can, type Command } from "./registry";
import { spelt, withKeys } from "./spelling";

const pressed = (key: string, held = "", code = "") => ({
  key,
  code,
  ctrlKey: held.includes("c"),
  metaKey: held.includes("m"),
  altKey: held.includes("a"),
  shiftKey: held.includes("s"),
});

describe("keys", () => {
  it("are met with what is held, and with nothing else", () => {
    expect(matches("Mod+k", pressed("k", "c"))).toBe(true);
    expect(matches("Mod+k", pressed("k", "m"))).toBe(true);
    expect(matches("Mod+k", pressed("K", "cs"))).toBe(false);
    expect(matches("Mod+k", pressed("k", "ca"))).toBe(false);
    expect(matches("Mod+Shift+o", pressed("O", "cs"))).toBe(true);
    expect(matches("k", pressed("k"))).toBe(true);
    expect(matches("k", pressed("k", "c"))).toBe(false);
    expect(matches("Alt+ArrowUp", pressed("ArrowUp", "a"))).toBe(true);
    expect(matches("Shift+F6", pressed("F6"))).toBe(false);
  });

  it("are signs on whatever key they stand", () => {
    expect(matches("?", pressed("?", "s"))).toBe(true);
    expect(matches("Mod+.", pressed(".", "c"))).toBe(true);
  });

  it("are the same when Alt writes something else with them", () => {
    expect(matches("Mod+Alt+z", pressed("Ω", "ca", "KeyZ"))).toBe(true);
    expect(matches("Mod+Alt+z", pressed("Ω", "ca", "KeyX"))).toBe(false);
  });

  it("write, or do not", () => {
    expect(["j", "?", "Shift+r"].every(isPlain)).toBe(true);
    expect(["Mod+k", "Alt+ArrowUp", "F6", "Escape"].some(isPlain)).toBe(false);
  });

  it("are spelt as on the keyboard", () => {
    expect(spelt("Mod+Shift+o")).toBe("Ctrl Shift O");
    expect(withKeys("Find", "Mod+f")).toBe("Find (Ctrl F)");
  });
});

describe("commands", () => {
  const left: (() => void)[] = [];
  afterEach(() => left.splice(0).forEach((take) => take()));
  const made = (id: string, more: Partial<Command> = {}): Command => ({
    id,
    group: "anywhere",
    title: () => id,
    run: vi.fn(),
    ...more,
  });
  const put = (...current: Command[]) => left.push(add({ current }));

  it("are there while their part is", () => {
    put(made("one"));
    const take = add({ current: [made("two")] });
    expect(allCommands().map(({ id }) => id)).toEqual(["one", "two"]);
    take();
    expect(allCommands().map(({ id }) => id)).toEqual(["one"]);
  });

  it("give way to a later one of the same name", () => {
    const later = made("one", { when: () => false });
    put(made("one"));
    put(later);
    expect(allCommands()).toEqual([later]);
    expect(can(later)).toBe(false);
  });

  it("are those of the moment", () => {
    const part = { current: [made("one")] };
    left.push(add(part));
    part.current = [made("two")];
    expect(allCommands().map(({ id }) => id)).toEqual(["two"]);
  });
});

describe("typed words", () => {
  it("fit when all of them are there", () => {
    expect(fit("Move to trash", wordsOf("tra mo"))).toBeDefined();
    expect(fit("Move to trash", wordsOf("trash pin"))).toBeUndefined();
    expect(fit("a (b", wordsOf("(b"))).toBeDefined();
  });

  it("prefer where a word begins", () => {
    const titles = ["Unarchive", "Archive", "Go to Archive"];
    expect(fitting(titles, (title) => title, wordsOf("arch"))).toEqual([
      "Archive",
      "Go to Archive",
      "Unarchive",
    ]);
    expect(fitting(titles, (title) => title, [])).toEqual(titles);
  });
});
