import { describe, expect, it } from "vitest";

import type { Known } from "../live/store";
import { EMPTY } from "../log/empty";
import type { State } from "../log/types";
import { sessionName } from "./names";

const known = (rest: Partial<Known> = {}): Parameters<typeof sessionName>[0] => ({
  fresh: {},
  list: undefined,
  link: { kind: "open" },
  sessions: {},
  unknown: {},
  ...rest,
});
const away: Known["link"] = { kind: "away", since: 0 };
const loaded = (title: State["title"]) => ({
  sessions: { s: { state: { ...EMPTY, title: title ?? null }, hash: [], caughtUp: true } },
});
const line = { session: "s", title: "Herons" } as NonNullable<Known["list"]>[number];
const fresh = { s: { session: "s", user: "u", at: 0 } };

describe("the name of a session", () => {
  it("is not that of a new one until the session is loaded", () => {
    expect(sessionName(known({ link: away }), "s")).toBe("Session not loaded");
    expect(sessionName(known(), "s")).toBe("Opening…");
  });

  it('names unsent and untitled sessions "New session"', () => {
    expect(sessionName(known({ fresh, link: away }), "s")).toBe("New session");
    expect(sessionName(known(loaded(null)), "s")).toBe("New session");
    expect(sessionName(known({ list: [{ ...line, title: null }] }), "s")).toBe("New session");
  });

  it("is its title, from its log or from the list", () => {
    expect(sessionName(known({ ...loaded({ person: "Terns" }), list: [line] }), "s")).toBe("Terns");
    expect(sessionName(known({ list: [line], link: away }), "s")).toBe("Herons");
  });

  it("is none where there is no session", () => {
    expect(sessionName(known({ unknown: { s: "Not found." } }), "s")).toBeUndefined();
  });
});
