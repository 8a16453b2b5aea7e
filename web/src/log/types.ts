// The shapes of a session's log, state and view, as the server describes them.

import type { Schemas } from "../api/client";

export type Event = Schemas["Event"];
export type Message = Schemas["Message"];
export type Attachment = Schemas["Attachment"];
export type RunEnd = Schemas["RunEnd"];
export type Usage = Schemas["Usage"];
export type CommitOutcome = Schemas["CommitOutcome"];
export type State = Schemas["Session"];
export type Turn = Schemas["Turn"];
export type Run = Schemas["Run"];
export type Piece = Schemas["Piece"];
export type Call = Schemas["Call"];
export type Queued = Schemas["Queued"];
export type TagState = Schemas["TagState"];
export type Ledger = Schemas["Ledger"];
export type View = Schemas["View"];
export type TurnView = Schemas["TurnView"];
export type Part = Schemas["Part"];
export type Marker = Schemas["Marker"];
export type Delivery = Schemas["Delivery"];
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
