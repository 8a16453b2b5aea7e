// The shapes of a session's log, state and view, as the server describes them.

import type { Schemas } from "../api/client";

export type Event =
  | Exclude<Schemas["Event"], { run_ended: unknown } | { step_started: unknown }>
  | { run_ended: { turn: number; run: number; end: RunEnd } }
  | { step_started: { run: number; step: number; asked_to_continue?: boolean } }
  | { queue_paused: object }
  | { queue_resumed: object }
  | { chat_notified: { answer: number; run: number } };
export type Message = Schemas["Message"];
export type Attachment = Schemas["Attachment"];
export type InterruptReason = Schemas["InterruptReason"] | "lost_node";
export type RunEnd =
  | Exclude<Schemas["RunEnd"], { interrupted: unknown }>
  | { output_limit: { tokens: number } }
  | { interrupted: { reason: InterruptReason; recovering?: boolean; progress?: boolean } };
export type Usage = Schemas["Usage"];
export type Retry = Schemas["Retry"];
export type CommitOutcome = Schemas["CommitOutcome"];
export type Title = { person: string } | { generated: string } | { provisional: string };
export type State = Omit<Schemas["Session"], "title" | "turns" | "undone" | "queue" | "recovering"> & {
  title?: Title | null;
  turns: Turn[];
  undone: { from: number; turns: Turn[]; before?: number }[];
  queue: Queued[];
  recovering: (Omit<Schemas["Recovering"], "reason"> & { reason: InterruptReason })[];
};
export type Turn = Omit<Schemas["Turn"], "runs"> & { runs: Run[] };
export type Run = Omit<Schemas["Run"], "end" | "pieces" | "recovery"> & {
  end?: RunEnd | null;
  pieces: Piece[];
  recovery: "none" | "recovering" | "recovered" | "neutral";
  asked_to_continue: boolean;
  last_at: number;
};
export type Piece =
  { text: string } | { reasoning: string } | { call: Call } | { steered: { turn: number; message: Message } };
export type Call = Omit<Schemas["Call"], "state"> & {
  state: "drafted" | "asked" | { finished: Schemas["Outcome"] };
};
export type Queued = Schemas["Queued"] & { paused?: boolean };
export type TagState = Schemas["TagState"];
export type Ledger = Schemas["Ledger"];
export type View = Omit<Schemas["View"], "turns" | "queue" | "deliveries"> & {
  turns: TurnView[];
  queue: QueuedView[];
  deliveries?: Delivery[];
  stuck?: boolean;
};
export type QueuedView = Schemas["QueuedView"] & { paused?: boolean };
export type TurnView = Omit<Schemas["TurnView"], "answer" | "marker"> & {
  answer?: Answer | null;
  marker?: Marker | null;
};
export type Answer = Omit<Schemas["Answer"], "parts"> & { parts: Part[]; interruptions?: Interruption[] };
/** A place in an answer at which an earlier run of it ended. */
export interface Interruption {
  /** The index of the part in or behind which it happened. */
  part: number;
  /** Characters (Unicode scalars) of that part's text that stand before it. */
  offset: number;
  marker: Marker;
}
export type Part =
  | Exclude<Schemas["Part"], { marker: unknown } | { call: unknown }>
  | { call: Omit<Extract<Schemas["Part"], { call: unknown }>["call"], "state"> & { state: CallProgress } }
  /** A part unknown to this version. */
  | { newer: object };
export type CallProgress = Schemas["CallProgress"] | "newer";
export type MarkerKind = Schemas["MarkerKind"] | "output_limit" | "other";
export type Marker = Omit<Schemas["Marker"], "kind"> & { kind: MarkerKind; reason?: InterruptReason };
export type Delivery = Schemas["Delivery"] & { notified?: number | null };
export type DeliveredPart = Schemas["DeliveredPart"];
export type DeliveryOutcome = Schemas["DeliveryOutcome"];
export type FromChat = Schemas["FromChat"];
export type Problem = Schemas["Problem"];
export type Line = Schemas["Line"];

/** What a kind of event says. */
export type EventOf<K extends string> = K extends string
  ? Extract<Event, { [key in K]: unknown }>[K & keyof Extract<Event, { [key in K]: unknown }>]
  : never;

/** One entry of a log. */
export interface Entry {
  seq: number;
  /** Microseconds since 1970. */
  time: number;
  event: Event;
}
