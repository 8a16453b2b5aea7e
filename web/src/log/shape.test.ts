import { readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { SHAPE } from "./shape";

test("the page folds states of the server's shape", () => {
  const fixture = readFileSync(join(import.meta.dirname, "../../../fixtures/state.txt"), "utf8");
  expect(fixture.split("\n")[0]).toBe(`shape ${SHAPE}`);
});
