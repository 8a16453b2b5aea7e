import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import { store, type Known } from "../live/store";
import { Thread } from "./Thread";

// The whole store needs a page.
vi.mock("../live/store", () => ({
  store: createStore(() => ({ link: { kind: "opening" }, outbox: [], fresh: {} })),
}));
// Markup without a page is made of the state that a store began with.
Object.assign(store, { getInitialState: store.getState });

const SENTENCE = "This session can&#x27;t be loaded until the server is back.";
const nothing = () => undefined;
const loadAll = () => Promise.resolve(true);
const earlier = { turns: [], missing: 0, coming: undefined, load: nothing, loadAll };

function shown(known: Partial<Known>): string {
  store.setState({ fresh: {}, ...known });
  return renderToStaticMarkup(createElement(Thread, { session: "s", view: undefined, earlier }));
}

it("says that a session can't be loaded while the server is unreachable, and not of a new one", () => {
  const away: Known["link"] = { kind: "away", since: 0 };
  expect(shown({ link: away })).toContain(SENTENCE);
  expect(shown({ link: away })).not.toContain('role="feed"');
  const fresh = { s: { session: "s", user: "u", at: 0 } };
  expect(shown({ link: away, fresh })).toContain("Nothing you write here gets lost.");
  expect(shown({ link: away, fresh })).not.toContain(SENTENCE);
  expect(shown({ link: { kind: "open" } })).not.toContain(SENTENCE);
});
