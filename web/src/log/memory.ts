// What a session owes to memory: the twin of the server's `memory.rs`, as far as it is folded.

import type { CommitOutcome, Ledger } from "./types";
import { variant } from "./variants";

/** What a branch owes: what was completed before is its origin's debt. */
export function abandoned(): Ledger {
  return { generation: 0, owner: null, segments: [], commit: null };
}

export function completed(ledger: Ledger, at: number): Ledger {
  const generation = ledger.generation + 1;
  const last = ledger.segments.at(-1);
  if (last !== undefined && (last.owner ?? null) === (ledger.owner ?? null) && !last.offered) {
    const grown = { ...last, last: generation, through: at };
    return { ...ledger, generation, segments: [...ledger.segments.slice(0, -1), grown] };
  }
  const segment = {
    owner: ledger.owner ?? null,
    first: generation,
    last: generation,
    from: at,
    through: at,
    offered: false,
    error: null,
  };
  return { ...ledger, generation, segments: [...ledger.segments, segment] };
}

export function owes(ledger: Ledger, owner: string | null): Ledger {
  return { ...ledger, owner };
}

export function reassigned(ledger: Ledger, first: number, to: string): Ledger {
  const segments = ledger.segments.map((known) => (known.first === first ? { ...known, owner: to } : known));
  return { ...ledger, segments };
}

export function begun(ledger: Ledger, id: number): Ledger {
  const segments = ledger.segments.map((known, at) => (at === 0 ? { ...known, offered: true } : known));
  return { ...ledger, segments, commit: { id, task: null } };
}

export function taken(ledger: Ledger, id: number, task: string): Ledger {
  return ledger.commit?.id === id ? { ...ledger, commit: { id, task } } : ledger;
}

export function ended(ledger: Ledger, id: number, outcome: CommitOutcome): Ledger {
  if (ledger.commit?.id !== id) return ledger;
  if (outcome === "done") return { ...ledger, commit: null, segments: ledger.segments.slice(1) };
  // What was not surely taken stays owed, also when how it ended is not known here.
  const error = variant(outcome, "failed")?.error;
  const segments = ledger.segments.map((known, at) =>
    at === 0 && error !== undefined ? { ...known, error } : known,
  );
  return { ...ledger, commit: null, segments };
}
