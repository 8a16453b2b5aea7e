// Editing a message creates a branch. The original session is unchanged.

import { ask } from "../api/client";
import { outbox, store } from "../live/store";
import type { Message, TurnView } from "../log/types";

/** Returns the visible turn before `turn`, or undefined if it is the first. */
async function turnBefore(session: string, turn: number): Promise<number | undefined> {
  const state = store.getState().sessions[session]?.state;
  const at = state?.turns.findIndex(({ id }) => id === turn) ?? -1;
  if (state !== undefined && at > 0) return state.turns[at - 1]?.id;
  if (state !== undefined && at === 0 && state.turns_before === 0) return undefined;
  const path = `/sessions/${session}/turns?before=${turn}&count=1`;
  return (await ask<{ turns: TurnView[] }>("GET", path)).turns[0]?.turn;
}

/** Creates the branch, sends the message there, and returns the new session. */
export async function sayDifferently(
  session: string,
  turn: number,
  message: Message,
  text: string,
): Promise<string> {
  // Turn 0 shares nothing: the first message is edited.
  const body = { turn: (await turnBefore(session, turn)) ?? 0 };
  const made = await ask<{ session: string }>("POST", `/sessions/${session}/branch`, { body });
  const { attachments = [], model } = message;
  const posted = { session: made.session, text, attachments, mode: "queue" } as const;
  outbox.send(model == null ? posted : { ...posted, model });
  return made.session;
}
