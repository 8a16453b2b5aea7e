import { afterEach, expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import { Refused } from "../api/client";
import { problemText } from "../api/problems";
import { store } from "../live/store";
import { attempt } from "./attempt";
import { ui } from "./ui";

// The whole store needs a page.
vi.mock("../live/store", () => ({ store: createStore(() => ({ link: { kind: "opening" } })) }));

const lost = "Couldn't rename the session: the server is unreachable.";
const refusal = new Refused(409, "session_exists", "a detail");
const away = () => store.setState({ link: { kind: "away", since: 0 } });
const open = () => store.setState({ link: { kind: "open" } });

afterEach(() => ui.setState({ notice: undefined }));

it("removes an unreachable notice once the server is back", async () => {
  away();
  await attempt(lost, Promise.reject(new TypeError("Failed to fetch")));
  expect(ui.getState().notice?.text).toBe(lost);
  open();
  expect(ui.getState().notice).toBeUndefined();
});

it("keeps the server's refusal across a reconnect", async () => {
  open();
  await attempt(lost, Promise.reject(refusal));
  away();
  open();
  expect(ui.getState().notice?.text).toBe(problemText(refusal));
});

it("removes the notice after a later success", async () => {
  await attempt(lost, Promise.reject(refusal));
  await attempt(lost, Promise.resolve());
  expect(ui.getState().notice).toBeUndefined();
});
