import { expect, test } from "vitest";

import { isLate, meet } from "./meet";

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

test("a change that arrives after a newer one is late", () => {
  expect(isLate({ revision: 3, device: "phone" }, undefined)).toBe(false);
  expect(isLate({ revision: 3, device: "phone" }, 2)).toBe(false);
  expect(isLate({ revision: 3, device: "phone" }, 3)).toBe(true);
  expect(isLate({ revision: 2, device: "phone" }, 3)).toBe(true);
  // The server was restored from a backup.
  expect(isLate({ revision: 1, device: null }, 3)).toBe(false);
});

test("hearing the same again changes nothing", () => {
  const met = meet({ text: "here", base: "" }, "there");
  expect(meet(met, "there")).toEqual(met);
});
