import { describe, expect, it } from "vitest";

import type { Known } from "../live/store";
import { sampleLine as line } from "../sessions/sampleLine";
import { goingAnywhere, goingIn, markOf, titleOf } from "./going";

const shown = (session: string, open_run: number | null) =>
  ({ [session]: { state: { open_run } } }) as unknown as Known["sessions"];

const link: Known["link"] = { kind: "open" };

describe("a tab", () => {
  it("is called after what it shows and what goes on there", () => {
    expect(titleOf("Herons", "live")).toBe("Writing — Herons");
    expect(titleOf("Herons", "needs")).toBe("◆ Needs you — Herons");
    expect(titleOf("Herons", "still")).toBe("Herons — Everturn");
    expect(titleOf(undefined, "still")).toBe("Everturn");
  });

  it("knows a session by its line until it is followed", () => {
    expect(goingIn({ link, list: [line("a", { run: 3 })], sessions: {} }, "a")).toBe("live");
    expect(goingIn({ link, list: [line("a", { run: 3 })], sessions: shown("a", null) }, "a")).toBe("still");
    expect(goingIn({ link, list: [line("a")], sessions: shown("a", 4) }, "a")).toBe("live");
    expect(goingIn({ link, list: [line("a", { needs: "failed" })], sessions: shown("a", null) }, "a")).toBe(
      "needs",
    );
    expect(goingIn({ link, list: undefined, sessions: {} }, "a")).toBe("still");
  });

  it("has a sign of its own for each that goes on anywhere", () => {
    expect(goingAnywhere({ link, list: [line("a"), line("b", { run: 1 })] })).toBe("live");
    expect(goingAnywhere({ link, list: [line("a", { needs: "interrupted" }), line("b", { run: 1 })] })).toBe(
      "needs",
    );
    expect(goingAnywhere({ link, list: [line("a")] })).toBe("still");
    expect(markOf("still")).toBe("/mark.svg");
    expect(new Set([markOf("live"), markOf("needs"), markOf("still")]).size).toBe(3);
  });

  it("claims no run while the server is unreachable", () => {
    const link: Known["link"] = { kind: "away", since: 0 };
    const list = [line("a", { run: 3 })];
    expect(goingIn({ link, list, sessions: shown("a", 3) }, "a")).toBe("still");
    expect(goingAnywhere({ link, list })).toBe("still");
  });
});
