import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Connection, type Told } from "./connection";

/** A socket whose peer is the test. */
class FakeSocket {
  static readonly OPEN = 1;
  static made: FakeSocket[] = [];
  readyState = 0;
  sent: string[] = [];
  onopen?: () => void;
  onmessage?: (event: { data: string }) => void;
  onclose?: () => void;

  constructor() {
    FakeSocket.made.push(this);
  }
  send(text: string) {
    this.sent.push(text);
  }
  close() {
    this.readyState = 3;
  }
  accept() {
    this.readyState = FakeSocket.OPEN;
    this.onopen?.();
    this.tell({ hello: { build: "b" } });
  }
  tell(told: Told) {
    this.onmessage?.({ data: JSON.stringify(told) });
  }
  /** Closes the socket as the network does. */
  break() {
    this.readyState = 3;
    this.onclose?.();
  }
}

const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
const view = new EventTarget();
const calls: string[] = [];
let connection: Connection;

const last = () => FakeSocket.made.at(-1) as FakeSocket;
const wake = () => view.dispatchEvent(new Event("online"));

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", FakeSocket);
  vi.stubGlobal("document", page);
  vi.stubGlobal("window", view);
  FakeSocket.made = [];
  calls.length = 0;
  connection = new Connection("ws://server", {
    opened: () => calls.push("opened"),
    told: (told) => calls.push(Object.keys(told)[0] ?? ""),
    closed: () => calls.push("closed"),
  });
  connection.start();
  last().accept();
});

afterEach(() => {
  connection.stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a lost connection is opened again", () => {
  last().break();
  vi.advanceTimersByTime(500);
  expect(FakeSocket.made).toHaveLength(2);
  last().accept();
  expect(calls).toEqual(["opened", "hello", "closed", "opened", "hello"]);
});

test("a page that wakes up after a long silence opens another connection at once", () => {
  vi.advanceTimersByTime(7_000);
  wake();
  expect(FakeSocket.made).toHaveLength(2);
});

test("a page that wakes up asks a connection that may be alive, and keeps it if it is", () => {
  vi.advanceTimersByTime(3_000);
  wake();
  expect(last().sent).toEqual([JSON.stringify({ ping: {} })]);
  last().tell({ heartbeat: {} });
  vi.advanceTimersByTime(5_000);
  expect(FakeSocket.made).toHaveLength(1);
});

test("a connection that does not answer is replaced within three seconds", () => {
  vi.advanceTimersByTime(3_000);
  wake();
  vi.advanceTimersByTime(3_000);
  expect(FakeSocket.made).toHaveLength(2);
});

test("a clock that jumps wakes the page up", () => {
  vi.setSystemTime(Date.now() + 60_000);
  vi.advanceTimersByTime(1_000);
  expect(FakeSocket.made).toHaveLength(2);
});

test("a hidden page leaves the connection alone", () => {
  page.visibilityState = "hidden";
  vi.advanceTimersByTime(7_000);
  wake();
  page.visibilityState = "visible";
  expect(FakeSocket.made).toHaveLength(1);
});

test("a socket that opens after it was given up is closed", () => {
  const first = last();
  first.break();
  vi.advanceTimersByTime(500);
  const late = last();
  connection.stop();
  late.accept();
  expect(late.readyState).toBe(3);
  expect(calls).toEqual(["opened", "hello", "closed"]);
});

test("a connection that was stopped stays closed until it is started", () => {
  connection.stop();
  wake();
  vi.advanceTimersByTime(60_000);
  expect(FakeSocket.made).toHaveLength(1);
  connection.start();
  connection.start();
  expect(FakeSocket.made).toHaveLength(2);
});
