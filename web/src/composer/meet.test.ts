import { expect, test } from "vitest";

import { meet } from "./meet";

test("a field that was not touched follows the other device", () => {
  expect(meet({ text: "", base: "" }, "half a")).toEqual({ text: "half a", base: "half a" });
  expect(meet({ text: "half a", base: "half a" }, "half a thought").text).toBe("half a thought");
  expect(meet({ text: "said", base: "said" }, "").text).toBe("");
});

test("what was written here stays when it was sent elsewhere", () => {
  expect(meet({ text: "half a thought", base: "half a" }, "")).toEqual({ text: "half a thought", base: "" });
});

test("what both wrote apart is kept, both of it", () => {
  const { text, base } = meet({ text: "here", base: "" }, "there");
  expect(text).toContain("here");
  expect(text).toContain("there");
  expect(base).toBe("there");
});

test("hearing the same again changes nothing", () => {
  const met = meet({ text: "here", base: "" }, "there");
  expect(meet(met, "there")).toEqual(met);
});
