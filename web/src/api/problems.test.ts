import { readFileSync } from "node:fs";
import { join } from "node:path";

import "../words/english";

import { describe, expect, it } from "vitest";

import { Refused } from "./client";
import { codeText, problemText, type ErrorCode } from "./problems";

interface Described {
  components: { schemas: { ErrorCode: { enum: ErrorCode[] } } };
}

const described = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../openapi.json"), "utf8"),
) as Described;
const codes = described.components.schemas.ErrorCode.enum;
const DETAIL = "heron 7: a detail of the server";
const unknown = codeText("a_code_of_a_newer_server");

describe("texts for error codes", () => {
  it.each(codes)("has a text of its own for %s, without the server's detail", (code) => {
    const text = problemText(new Refused(409, code, DETAIL));
    expect(text).toMatch(/^[A-Z].{10,}\.$/);
    expect(text).not.toBe(unknown);
    expect(text).not.toContain(DETAIL);
  });

  it("has a text for an unknown code, without the server's detail", () => {
    expect(unknown).toMatch(/try again\.$/);
    for (const code of ["newer", "toString", ""])
      expect(problemText(new Refused(500, code, DETAIL))).toBe(unknown);
  });

  it("has a text for an unreachable server", () => {
    const text = problemText(new TypeError("Failed to fetch"));
    expect(text).toBe("Can't reach the server. Check your connection and try again.");
  });

  it("prefers the action's own text for a code", () => {
    const here = { not_authorised: "Wrong name or password." };
    expect(problemText(new Refused(401, "not_authorised", DETAIL), here)).toBe("Wrong name or password.");
    expect(problemText(new Refused(409, "busy", DETAIL), here)).toBe(
      problemText(new Refused(409, "busy", "")),
    );
  });
});
