import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import type { Part, TurnView } from "../log/types";
import { SharedTurn } from "./SharedTurn";

// The whole store needs a page.
vi.mock("../live/store", () => ({ store: createStore(() => ({ link: { kind: "open" } })) }));

const SENTENCE =
  "This answer was still being written when this page last loaded it; reload the page to see more.";
const RUNNING: Part = { call: { call: 1, tool: "read", arguments: "{}", state: "running" } };

function markup(unfinished: boolean, rest: Partial<TurnView> = {}): string {
  const answer = { run: 2, parts: [{ text: "Herons" }, RUNNING], complete: false };
  const turn = { turn: 1, posted_at: 0, message: { text: "Tell me." }, alternatives: [2], answer, ...rest };
  return renderToStaticMarkup(createElement(SharedTurn, { turn, unfinished }));
}

it("says in one sentence that an answer was still being written, and moves nothing", () => {
  const shown = markup(true);
  expect(shown).toContain(SENTENCE);
  expect(shown).not.toMatch(/Writing|Running|class="[^"]*\b(?:live|tip|caret|spin|run)\b/);
  expect(markup(true, { answer: null })).toContain(SENTENCE);
});

it("says so of no other answer", () => {
  expect(markup(false)).not.toContain("still being written");
});

it("says when an answer was stopped, and not by whom", () => {
  const shown = markup(false, { marker: { kind: "stopped", run: 2, at: 0, text: "" } });
  expect(shown).toMatch(/<b>Stopped at [^<]+\.<\/b>/);
  expect(shown).not.toContain("you");
});
