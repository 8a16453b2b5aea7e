// What a session owes to chats: the twin of the server's `delivery.rs`, as far as it is folded.

import type { DeliveredPart, Delivery, DeliveryOutcome, FromChat } from "./types";

interface Owed {
  turn: number;
  answer: number;
  to: FromChat;
}

/** Ended deliveries that stay in the state. */
const ENDED_MAX = 16;

export function owed(
  deliveries: readonly Delivery[],
  { turn, answer, to }: Owed,
  letters: () => number,
): Delivery[] {
  if (deliveries.some((known) => known.answer === answer))
    return edit(deliveries, answer, (known) => {
      const brought = known.outcome === "delivered" || known.outcome === "doubtful";
      const before = brought ? { before: { parts: known.parts.length, letters: letters() } } : {};
      return { ...known, ...before, outcome: null };
    });
  return [...deliveries, { turn, answer, to, parts: [], outcome: null }];
}

export function attempted(deliveries: readonly Delivery[], answer: number, part: number): Delivery[] {
  return editPart(deliveries, answer, part, (known) => ({ ...known, attempts: known.attempts + 1 }));
}

export function unsent(deliveries: readonly Delivery[], answer: number, part: number): Delivery[] {
  return editPart(deliveries, answer, part, (known) => ({
    ...known,
    attempts: Math.max(0, known.attempts - 1),
  }));
}

export function arrived(
  deliveries: readonly Delivery[],
  answer: number,
  part: number,
  receipt: string,
): Delivery[] {
  return editPart(deliveries, answer, part, (known) => ({ ...known, receipt }));
}

/** Notes that the chat was told that `run` resumes the answer. */
export function notified(deliveries: readonly Delivery[], answer: number, run: number): Delivery[] {
  return edit(deliveries, answer, (known) => ({ ...known, notified: run }));
}

export function ended(deliveries: readonly Delivery[], answer: number, outcome: DeliveryOutcome): Delivery[] {
  const after = edit(deliveries, answer, (known) => ({ ...known, outcome }));
  let over = after.filter((known) => known.outcome != null).length - ENDED_MAX;
  return after.filter((known) => {
    if (known.outcome == null || over <= 0) return true;
    over -= 1;
    return false;
  });
}

function edit(
  deliveries: readonly Delivery[],
  answer: number,
  change: (known: Delivery) => Delivery,
): Delivery[] {
  return deliveries.map((known) => (known.answer === answer ? change(known) : known));
}

function editPart(
  deliveries: readonly Delivery[],
  answer: number,
  part: number,
  change: (known: DeliveredPart) => DeliveredPart,
): Delivery[] {
  return edit(deliveries, answer, (known) => {
    const parts: DeliveredPart[] =
      known.parts.length === part ? [...known.parts, { attempts: 0, receipt: null }] : known.parts;
    return { ...known, parts: parts.map((one, at) => (at === part ? change(one) : one)) };
  });
}
