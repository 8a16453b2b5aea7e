import { describe, expect, it } from "vitest";

import type { Part } from "../log/types";
import { failuresOf, gistOf, kindsOf, readable, stretchesOf, verbOf, type Step } from "./trace";

const thought: Step = { reasoning: "hm" };
const ran: Step = { call: { call: 1, tool: "clock", arguments: "{}", state: "finished", result: "noon" } };
const failed: Step = { call: { call: 2, tool: "clock", arguments: "{}", state: "failed", result: "no" } };
const text: Part = { text: "said" };

describe("steps", () => {
  it("stand together until something else comes", () => {
    expect(stretchesOf([thought, ran, text, failed, text])).toEqual([
      { at: 0, steps: [thought, ran] },
      { at: 2, part: text },
      { at: 3, steps: [failed] },
      { at: 4, part: text },
    ]);
  });

  it("keep their names while the answer grows", () => {
    const parts = [thought, ran, text, failed, thought, text];
    const names = (count: number) => stretchesOf(parts.slice(0, count)).map(({ at }) => at);
    for (let count = 1; count < parts.length; count += 1)
      expect(names(count + 1).slice(0, names(count).length)).toEqual(names(count));
  });

  it("are summed up", () => {
    expect(kindsOf([thought, ran, failed, thought])).toBe("2 thoughts, 2 tool calls");
    expect(kindsOf([ran])).toBe("1 tool call");
    expect(failuresOf([thought, ran, failed])).toBe(1);
  });
});

describe("a call", () => {
  it("is told by what became of it", () => {
    expect(verbOf("incomplete", true)).toBe("Preparing");
    expect(verbOf("incomplete", false)).toBe("Didn't run");
    expect(verbOf("may_have_run", false)).toBe("May have run");
  });

  it("has arguments that can be read", () => {
    const given = JSON.stringify({
      path: "a.rs",
      lines: [1, 2],
      all: { name: "x".repeat(60) },
      text: "one\ntwo",
      deep: null,
    });
    expect(readable(given)).toBe(
      [
        "path: a.rs",
        "lines: [1,2]",
        "all:",
        "  {",
        `    "name": "${"x".repeat(60)}"`,
        "  }",
        "text:",
        "  one",
        "  two",
        "deep: null",
      ].join("\n"),
    );
    expect(readable("{}")).toBe("");
    expect(readable('{"text": "cut')).toBeUndefined();
    expect(readable("[1]")).toBeUndefined();
  });

  it("is about its first text", () => {
    expect(gistOf('{"count": 3, "command": "\\n cargo test\\n  -p wal"}')).toBe("cargo test");
    expect(gistOf('{"count": 3}')).toBeUndefined();
    expect(gistOf('{"command": " "}')).toBeUndefined();
    expect(gistOf("cut")).toBeUndefined();
  });
});
