import { beforeEach, expect, it, vi } from "vitest";
import { createStore } from "zustand/vanilla";

import { codeText } from "../api/problems";
import { store } from "../live/store";
import { EMPTY } from "../log/empty";
import { fold } from "../log/fold";
import type { Entry, Event, State } from "../log/types";
import { ui } from "../shell/ui";
import { continueAnswer, isContinuing } from "./continue";

// The whole store needs a page.
vi.mock("../live/store", () => ({ store: createStore(() => ({ link: { kind: "open" }, sessions: {} })) }));

let count = 0;
/** A new id for each test: requests to continue are remembered per session. */
let session = "";
const STOPPED = [
  { message_posted: { message: { text: "tell me" }, mode: "queue" } },
  { run_started: { turn: 1, cause: "message" } },
  { run_ended: { turn: 1, run: 2, end: { stopped: {} } } },
];
const RUNNING = [...STOPPED, { run_started: { turn: 1, cause: "continue" } }];
const COMPLETE = [...RUNNING, { run_ended: { turn: 1, run: 4, end: "completed" } }];

function stateOf(events: readonly unknown[]): State {
  const entries: Entry[] = events.map((event, at) => ({ seq: at + 1, time: at + 1, event: event as Event }));
  return fold(EMPTY, entries);
}

function shows(events: readonly unknown[]): void {
  store.setState({ sessions: { [session]: { state: stateOf(events), hash: [], caughtUp: true } } });
}

const kept = () => new Response("{}");
const refusal = { code: "nothing_to_continue", detail: "There is nothing to continue." };
const refused = () => new Response(JSON.stringify(refusal), { status: 409 });
const sent = vi.fn<() => Promise<Response>>();
vi.stubGlobal("fetch", sent);

beforeEach(() => {
  session = `s${count++}`;
  ui.setState({ notice: undefined });
  sent.mockReset().mockImplementation(async () => kept());
  shows(STOPPED);
});

it("asks once, also after the server agreed and before the log shows the run", async () => {
  await Promise.all([continueAnswer(session), continueAnswer(session)]);
  await continueAnswer(session);
  expect(sent).toHaveBeenCalledTimes(1);
  expect(isContinuing(session, 2)).toBe(true);
});

it("asks nothing while a run is open or after the answer is complete", async () => {
  for (const events of [RUNNING, COMPLETE]) {
    shows(events);
    await continueAnswer(session);
  }
  expect(sent).not.toHaveBeenCalled();
});

it("asks again for a later stop, and after a failure", async () => {
  await continueAnswer(session);
  shows([...RUNNING, { run_ended: { turn: 1, run: 4, end: { stopped: {} } } }]);
  sent.mockRejectedValueOnce(new TypeError("Failed to fetch"));
  await continueAnswer(session);
  expect(ui.getState().notice?.kind).toBe("unreachable");
  await continueAnswer(session);
  expect(sent).toHaveBeenCalledTimes(3);
  expect(ui.getState().notice).toBeUndefined();
});

it.each([
  ["running", RUNNING],
  ["complete", COMPLETE],
])("removes the refusal once the answer is %s", async (_, events) => {
  sent.mockImplementation(async () => refused());
  await continueAnswer(session);
  expect(ui.getState().notice?.text).toBe(codeText(refusal.code));
  shows(events);
  expect(ui.getState().notice).toBeUndefined();
});

it("shows no refusal if the answer started running meanwhile", async () => {
  sent.mockImplementation(async () => {
    shows(RUNNING);
    return refused();
  });
  await continueAnswer(session);
  expect(ui.getState().notice).toBeUndefined();
});
