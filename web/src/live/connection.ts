// One WebSocket a tab. It comes back by itself, for ever, and after a silence too long for a network that is there.

import type { Entry, Line, Problem, State } from "../log/types";

/** What the user is writing in a session; the device is none when it was written before this page was there. */
export interface Draft {
  session: string;
  text: string;
  /** Counts the changes of the draft. */
  revision: number;
  device: string | null;
}

/** What the server tells. */
export interface Told {
  hello?: { build: string };
  snapshot?: { session: string; state: State };
  entries?: { session: string; entries: Entry[]; caught_up: boolean; hash: number[] | null };
  cut_off?: { session: string };
  refused?: { session: string | null; problem: Problem };
  list?: { sessions: Line[]; next?: string | null };
  line?: Line;
  gone?: { session: string };
  draft?: Draft;
  /** Whether the server can keep anything; told when that changes, and at the beginning when it cannot. */
  store?: { writable: boolean; problem?: string | null };
  list_cut_off?: object;
  heartbeat?: object;
}

/** What is said to the server. */
export type Said =
  | { follow: { session: string; after?: number; hash?: number[] } }
  | { leave: { session: string } }
  | { follow_list: object };

interface Hears {
  /** The socket is open: everything is followed anew from where it stands. */
  opened: () => void;
  told: (told: Told) => void;
  /** The socket is gone. It is tried again whatever the reason. */
  closed: () => void;
}

const FIRST_WAIT = 300;
const WAIT_MAX = 10_000;
/** The server speaks every five seconds at least. */
const SILENCE_MAX = 15_000;
/** How long a socket may take to open. */
const OPENING_MAX = 8_000;

export class Connection {
  private socket: WebSocket | undefined;
  private wait = FIRST_WAIT;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Until when no socket is opened, because the person wants to see what happens. */
  private heldUntil = 0;
  private watchdog: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly address: string,
    private readonly hears: Hears,
  ) {}

  start(): void {
    this.open();
    for (const event of ["online", "pageshow"]) window.addEventListener(event, this.now);
    document.addEventListener("visibilitychange", this.now);
  }

  say(said: Said): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(said));
  }

  /** Tries at once when there is no connection. */
  readonly now = (): void => {
    if (document.visibilityState === "hidden" || this.socket !== undefined || Date.now() < this.heldUntil)
      return;
    this.wait = FIRST_WAIT;
    this.open();
  };

  /** Cuts the connection and opens none for a while: nothing of the network is touched, and nothing of the server. */
  cut(millis: number): void {
    this.heldUntil = Date.now() + millis;
    const { socket } = this;
    if (socket === undefined) return;
    socket.close();
    this.lost(socket);
  }

  private open(): void {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.address);
    this.socket = socket;
    this.watch(OPENING_MAX);
    socket.onopen = () => {
      this.wait = FIRST_WAIT;
      this.watch(SILENCE_MAX);
      this.hears.opened();
    };
    socket.onmessage = (event) => {
      if (this.socket !== socket) return;
      this.watch(SILENCE_MAX);
      this.hears.told(JSON.parse(event.data as string) as Told);
    };
    socket.onclose = () => this.lost(socket);
  }

  /** A network that is gone says nothing: silence is its sign. */
  private watch(patience: number): void {
    clearTimeout(this.watchdog);
    const socket = this.socket;
    this.watchdog = setTimeout(() => {
      if (socket === undefined) return;
      socket.close();
      this.lost(socket);
    }, patience);
  }

  private lost(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    clearTimeout(this.watchdog);
    this.hears.closed();
    const wait = Math.max(this.wait * (0.5 + Math.random()), this.heldUntil - Date.now());
    this.wait = Math.min(this.wait * 2, WAIT_MAX);
    this.timer = setTimeout(() => this.open(), wait);
  }
}
