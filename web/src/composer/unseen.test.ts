import { expect, it } from "vitest";

import { unseen } from "./unseen";

const files = (...types: string[]) => types.map((media_type) => ({ media_type }));

it("gives notice of files that a model doesn't accept", () => {
  const blind = { name: "small", pictures: false, documents: false };
  const sees = { name: "large", pictures: true, documents: false };
  expect(unseen(files("image/png"), blind)).toBe("small can't read images. It gets only the file names.");
  expect(unseen(files("image/png", "application/pdf"), blind)).toContain("images or PDFs");
  expect(unseen(files("image/png"), sees)).toBeUndefined();
  expect(unseen(files("image/jpeg", "application/pdf"), sees)).toContain("can't read PDFs");
  expect(unseen(files("text/plain", "image/svg+xml"), blind)).toBeUndefined();
  expect(unseen([], blind)).toBeUndefined();
});

it("gives no notice if the server doesn't say what a model accepts", () => {
  expect(unseen(files("image/png"), { name: "old" })).toBeUndefined();
  expect(unseen(files("image/png"), undefined)).toBeUndefined();
});
