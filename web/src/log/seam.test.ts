import { readFileSync } from "node:fs";
import { join as path } from "node:path";

import { expect, it } from "vitest";

import { join, type Stage } from "./seam";

interface Case {
  name: string;
  previous: string;
  text: string;
  stage: Stage;
  joined: string;
}

const file = path(import.meta.dirname, "../../../fixtures/seams.json");
const cases = JSON.parse(readFileSync(file, "utf8")) as Case[];

it("has golden cases", () => expect(cases.length).toBeGreaterThan(20));

it.each(cases)("joins as the server does: $name", ({ previous, text, stage, joined }) => {
  expect(join(previous, text, stage)).toBe(joined);
});

it.each(cases.filter(({ stage }) => stage === "completed"))(
  "never takes back what it showed while the text came: $name",
  ({ previous, text, joined }) => {
    let shown = previous;
    const letters = [...text];
    for (let count = 0; count <= letters.length; count += 1) {
      const now = join(previous, letters.slice(0, count).join(""), "unfinished");
      expect(now.startsWith(shown)).toBe(true);
      shown = now;
    }
    expect(joined.startsWith(shown)).toBe(true);
  },
);
