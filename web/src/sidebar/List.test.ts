import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import { store } from "../live/store";
import { lists } from "../sessions/lists";
import { End } from "./List";

// The whole store needs a page, and so do frames.
vi.mock("../live/frame", () => ({ onceAFrame: (act: () => void) => act }));
vi.mock("../live/store", () => ({ store: createStore(() => ({ link: { kind: "opening" } })) }));
// Markup without a page is made of the state that a store began with.
for (const one of [store, lists]) Object.assign(one, { getInitialState: one.getState });

const shown = (size = 0) => renderToStaticMarkup(createElement(End, { size }));

it("says that the list can't be loaded after the first failed try, until the server is back", () => {
  expect(shown()).toContain("Loading sessions…");
  store.setState({ link: { kind: "away", since: 0 } });
  expect(shown()).toContain("Your sessions appear when the server is back.");
  expect(shown(3)).toContain("Loading more…");
  store.setState({ link: { kind: "open" } });
  expect(shown()).toContain("Loading sessions…");
});

it("names the rest only where a part is shown", () => {
  lists.setState({ standing: "failed" });
  expect(shown()).toMatch(/Couldn&#x27;t load the sessions\..*Try again/);
  expect(shown(3)).toContain("Couldn&#x27;t load more sessions.");
});
