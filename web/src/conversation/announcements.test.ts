import { describe, expect, it } from "vitest";

import type { Marker } from "../log/types";
import { changeWords, type Heard } from "./announcements";

const marker = (kind: Marker["kind"], run = 5): Marker => ({ kind, run, at: 0, text: "" });
const writing: Heard = { run: 5, marker: undefined, latest: 5 };
const ended = (of: Marker | undefined): Heard => ({ run: null, marker: of, latest: 5 });
const told = (before: Heard, now: Heard) => changeWords(before, now, "three short words");

describe("a screen reader", () => {
  it("hears how an answer ended, whatever ended it", () => {
    const words = (kind: Marker["kind"]) => told(writing, ended(marker(kind)));
    expect(words("stopped")).toBe("Stopped. Everything is kept.");
    expect(words("interrupted")).toMatch(/^Interrupted at /);
    expect(words("failed")).toBe("The answer couldn't be finished. Your message is saved.");
    expect(words("recovering")).toBe("Interrupted. Recovering output.");
    expect(words("output_limit")).toBe("Reached the output limit.");
    expect(words("other")).toBe("The answer ended. Reload the page to show why.");
    expect(told(writing, ended(undefined))).toBe("Agent finished, 3 words.");
  });

  it("hears a second stop of the same kind, also if the start between them was missed", () => {
    const before: Heard = { run: null, marker: marker("stopped", 3), latest: 3 };
    expect(told(before, ended(marker("stopped")))).toBe("Stopped. Everything is kept.");
  });

  it("hears a recovery once", () => {
    const recovering = ended(marker("recovering"));
    expect(told(recovering, ended(marker("recovered")))).toBe("The output was recovered.");
    expect(told(recovering, ended(marker("interrupted")))).toMatch(/^Interrupted at /);
    expect(told(recovering, recovering)).toBeUndefined();
  });

  it("hears that the agent writes, and nothing of an old answer that is shown again", () => {
    expect(told(ended(marker("stopped")), { run: 7, marker: undefined, latest: 7 })).toBe(
      "Agent is writing.",
    );
    expect(told(ended(undefined), ended(marker("stopped", 2)))).toBeUndefined();
  });
});
