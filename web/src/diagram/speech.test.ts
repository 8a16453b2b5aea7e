import { describe, expect, it } from "vitest";

import { told } from "./speech";

describe("what a frame says", () => {
  it("is taken when it is one of its words", () => {
    expect(told("listening")).toBe("listening");
    expect(told("failed")).toBe("failed");
    expect(told({ drawn: { width: 10, height: 20 }, more: 1 })).toEqual({ drawn: { width: 10, height: 20 } });
  });

  it.each([
    undefined,
    null,
    "other",
    3,
    {},
    { drawn: null },
    { drawn: { width: 1, height: -1 } },
    { drawn: { width: 1, height: 1e9 } },
  ])("is nothing otherwise: %j", (data) => expect(told(data)).toBeUndefined());
});
