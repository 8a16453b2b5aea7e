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
  hello?: { build: string; shape?: number };
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
  | { follow_list: object }
  | { ping: object };

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
/** After a longer silence, a page that wakes up reconnects at once instead of sending a ping. */
const SILENCE_AWAKE_MAX = 6_000;
/** Timeout for the answer to a ping. */
const PING_MAX = 2_000;
const TICK = 1_000;
/** A clock jump longer than this means that the machine slept. */
const JUMP_MIN = 3_000;

export class Connection {
  private socket: WebSocket | undefined;
  private wait = FIRST_WAIT;
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Until when no socket is opened, because the person wants to see what happens. */
  private heldUntil = 0;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  /** When this socket last received something. */
  private heardAt = 0;
  private ticker: ReturnType<typeof setInterval> | undefined;
  private tickedAt = 0;

  constructor(
    private readonly address: string,
    private readonly hears: Hears,
  ) {}

  /** Connects, and reconnects whenever the connection is lost. */
  start(): void {
    if (this.ticker !== undefined) return this.now();
    this.tickedAt = Date.now();
    this.ticker = setInterval(this.tick, TICK);
    for (const event of ["online", "pageshow"]) window.addEventListener(event, this.now);
    document.addEventListener("visibilitychange", this.now);
    this.open();
  }

  /** Closes the connection for good, because nobody is signed in. */
  stop(): void {
    for (const event of ["online", "pageshow"]) window.removeEventListener(event, this.now);
    document.removeEventListener("visibilitychange", this.now);
    clearInterval(this.ticker);
    this.ticker = undefined;
    clearTimeout(this.timer);
    clearTimeout(this.watchdog);
    const { socket } = this;
    this.socket = undefined;
    socket?.close();
  }

  say(said: Said): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(said));
  }

  /** Connects at once if there is no connection, otherwise checks that it is alive. */
  readonly now = (): void => {
    if (document.visibilityState === "hidden" || Date.now() < this.heldUntil) return;
    this.wait = FIRST_WAIT;
    if (this.socket === undefined) this.open();
    else if (this.socket.readyState === WebSocket.OPEN) this.check(this.socket);
  };

  /** Cuts the connection and opens none for a while: nothing of the network is touched, and nothing of the server. */
  cut(millis: number): void {
    this.heldUntil = Date.now() + millis;
    if (this.socket !== undefined) this.drop(this.socket);
  }

  /** Detects sleep: timers of a machine that slept fire late. */
  private readonly tick = (): void => {
    const before = this.tickedAt;
    this.tickedAt = Date.now();
    if (this.tickedAt - before > TICK + JUMP_MIN) this.now();
  };

  /** Pings a socket to check that it is alive. Replaces it at once after a long silence. */
  private check(socket: WebSocket): void {
    if (Date.now() - this.heardAt > SILENCE_AWAKE_MAX) {
      this.drop(socket);
      this.open();
    } else {
      this.say({ ping: {} });
      this.watch(PING_MAX);
    }
  }

  private open(): void {
    clearTimeout(this.timer);
    const socket = new WebSocket(this.address);
    this.socket = socket;
    this.watch(OPENING_MAX);
    socket.onopen = () => {
      if (this.socket !== socket) return socket.close();
      this.wait = FIRST_WAIT;
      this.heard();
      this.hears.opened();
    };
    socket.onmessage = (event) => {
      if (this.socket !== socket) return;
      this.heard();
      this.hears.told(JSON.parse(event.data as string) as Told);
    };
    socket.onclose = () => this.lost(socket);
  }

  private heard(): void {
    this.heardAt = Date.now();
    this.watch(SILENCE_MAX);
  }

  /** Drops the socket after a silence, because a dead network reports nothing. */
  private watch(patience: number): void {
    clearTimeout(this.watchdog);
    const socket = this.socket;
    this.watchdog = setTimeout(() => socket !== undefined && this.drop(socket), patience);
  }

  private drop(socket: WebSocket): void {
    socket.close();
    this.lost(socket);
  }

  private lost(socket: WebSocket): void {
    if (this.socket !== socket) return;
    this.socket = undefined;
    clearTimeout(this.watchdog);
    const wait = Math.max(this.wait * (0.5 + Math.random()), this.heldUntil - Date.now());
    this.wait = Math.min(this.wait * 2, WAIT_MAX);
    this.timer = setTimeout(() => this.open(), wait);
    this.hears.closed();
  }
}
