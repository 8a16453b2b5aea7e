import { expect, it } from "vitest";

import { depthOf } from "./tex";

it.each([
  [String.raw`\frac{1}{2}`, 1],
  [String.raw`\frac{1}{\sqrt{x^{2}}}`, 3],
  [String.raw`\{ a \}`, 0],
  [String.raw`\left( \begin{array}{c} 1 \end{array} \right)`, 3],
  [String.raw`\sqrt{`.repeat(150) + "1" + "}".repeat(150), 150],
])("counts how deep groups are nested: %s", (text, depth) => {
  expect(depthOf(text)).toBe(depth);
});
