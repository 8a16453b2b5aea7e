// What was taken out of sight in a session, read from its log: nothing that was said is ever gone.

import { EMPTY } from "./empty";
import { fold } from "./fold";
import type { Entry, Event, State, TurnView } from "./types";
import { variant } from "./variants";
import { turnView } from "./view";

export interface Hidden {
  /** Microseconds since 1970. */
  at: number;
  how: "undone" | "edited" | "cleared";
  turns: TurnView[];
}

export interface History {
  state: State;
  hidden: readonly Hidden[];
}

export const NOTHING: History = { state: EMPTY, hidden: [] };

/** Goes on from what the entries before these hid. */
export function history(before: History, entries: readonly Entry[]): History {
  let { state } = before;
  const hidden = [...before.hidden];
  for (const entry of entries) {
    const { event } = entry;
    const how = hiding(event);
    const seen = state.turns;
    state = fold(state, [entry]);
    if (how !== undefined) {
      const left = new Set(state.turns.map(({ id }) => id));
      const turns = seen.filter(({ id }) => !left.has(id)).map(turnView);
      if (turns.length > 0) hidden.push({ at: entry.time, how, turns });
    } else if (variant(event, "turns_put_back") !== undefined) {
      const shown = new Set(state.turns.map(({ id }) => id));
      const at = hidden.findLastIndex(({ turns }) => turns.every(({ turn }) => shown.has(turn)));
      if (at >= 0) hidden.splice(at, 1);
    } else if (variant(event, "session_branched") !== undefined) {
      // What its origin hid is its origin's.
      hidden.length = 0;
    }
  }
  return { state, hidden };
}

/** Returns how an event hides turns, if it does. */
function hiding(event: Event): Hidden["how"] | undefined {
  if (variant(event, "turns_undone") !== undefined) return "undone";
  if (variant(event, "message_edited") !== undefined) return "edited";
  return variant(event, "session_cleared") === undefined ? undefined : "cleared";
}
