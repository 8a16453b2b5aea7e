// What a reader sees of a state: the twin of the server's `view.rs`, held to the same golden views. A turn that did not
// change gives the same view again, so that only what changed is drawn.

import { answers } from "./fold";
import type { Marker, Part, Piece, Run, State, Turn, TurnView, Usage, View } from "./types";

const turnViews = new WeakMap<Turn, TurnView>();

export function view(state: State): View {
  const turns = state.turns.map((turn) => {
    const shown = turnView(turn);
    const recovering = state.recovering.find(
      (known) => known.turn === shown.turn && known.run === shown.marker?.run,
    );
    if (recovering === undefined || shown.marker == null) return shown;
    const { attempts, first_seen } = recovering;
    return { ...shown, marker: { ...shown.marker, attempts, first_seen } };
  });
  const owed = state.memory.segments.flatMap(({ owner, first, last, error }) =>
    owner == null ? [] : [{ owner, turns: last - first + 1, ...(error == null ? {} : { error }) }],
  );
  const title = state.title;
  return {
    seq: state.link.seq,
    title: title == null ? null : "Person" in title ? title.Person : title.Generated,
    created_at: state.created_at,
    active_at: state.active_at,
    pinned: state.pinned,
    archived: state.archived,
    trashed: state.trashed,
    ...(state.trashed_at == null ? {} : { trashed_at: state.trashed_at }),
    ...(state.tags.length === 0 ? {} : { tags: state.tags }),
    ...(state.project == null ? {} : { project: state.project }),
    ...(state.origin == null ? {} : { origin: state.origin }),
    turns_before: state.turns_before,
    turns,
    queue: state.queue,
    run: state.open_run ?? null,
    can_put_back: state.undone.length > 0 && state.open_run == null,
    ...(state.resume == null ? {} : { resume: state.resume }),
    ...(owed.length === 0 ? {} : { owed }),
    ...((state.deliveries ?? []).length === 0 ? {} : { deliveries: state.deliveries }),
  };
}

/** The view of one turn, without the bookkeeping of a recovery. */
export function turnView(turn: Turn): TurnView {
  const known = turnViews.get(turn);
  if (known !== undefined) return known;
  const all = answers(turn);
  const runs = all.find((runs) => runs.some((run) => run.id === turn.chosen)) ?? [];
  const parts: Part[] = [];
  for (const run of runs) {
    for (const piece of run.pieces) parts.push(partOf(piece, run));
    const cut = marker(run);
    if (cut === null) continue;
    // A run that was cut before it brought anything was cut where the one before it was.
    const before = parts.at(-1);
    if (before !== undefined && "marker" in before) parts.pop();
    parts.push({ marker: cut });
  }
  const first = runs[0];
  const last = runs.at(-1);
  const end = last === undefined ? null : marker(last);
  // Where the last one was cut stands by itself.
  if (end !== null) parts.pop();
  const usage = runs.map((run) => run.usage).reduce(plus, { input_tokens: 0, output_tokens: 0 });
  const used = usage.input_tokens + usage.output_tokens + (usage.cost_micros ?? 0) > 0;
  const shown: TurnView = {
    turn: turn.id,
    posted_at: turn.posted_at,
    message: turn.message,
    answer:
      first === undefined || parts.length === 0
        ? null
        : { run: first.id, parts, complete: last?.end === "completed" },
    marker: end,
    alternatives: all.flatMap((runs) => (runs[0] === undefined ? [] : [runs[0].id])),
    ...(used ? { usage } : {}),
  };
  turnViews.set(turn, shown);
  return shown;
}

function plus(one: Usage, other: Usage): Usage {
  const cost_micros = (one.cost_micros ?? 0) + (other.cost_micros ?? 0);
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    ...(cost_micros === 0 ? {} : { cost_micros }),
  };
}

const partViews = new WeakMap<Piece, Part>();

/** A piece that did not change gives the same part again, so that a long turn draws only what grows. */
function partOf(piece: Piece, run: Run): Part {
  const known = partViews.get(piece);
  if (known !== undefined) return known;
  const made = part(piece, run);
  // What a call without a result looks like depends on its run.
  if (!("Call" in piece) || typeof piece.Call.state === "object") partViews.set(piece, made);
  return made;
}

function part(piece: Piece, run: Run): Part {
  if ("Text" in piece) return { text: piece.Text };
  if ("Reasoning" in piece) return { reasoning: piece.Reasoning };
  if ("Steered" in piece) return { steered: piece.Steered };
  const { no, tool, arguments: given, state } = piece.Call;
  const call = { call: no, tool, arguments: given };
  if (typeof state === "object") {
    const progress = state.Finished.status === "ok" ? "finished" : "failed";
    return { call: { ...call, state: progress, result: state.Finished.content } };
  }
  const progress = state === "Drafted" ? "incomplete" : run.end == null ? "running" : "may_have_run";
  return { call: { ...call, state: progress, result: null } };
}

/** Why a run did not complete; none when it did, or goes on. */
export function marker(run: Run): Marker | null {
  const { end, ended_at } = run;
  if (end == null || ended_at == null || end === "completed") return null;
  const mark = (kind: Marker["kind"], text: string): Marker => ({ kind, run: run.id, at: ended_at, text });
  if ("stopped" in end) {
    const { by_message, device } = end.stopped;
    const stopped =
      by_message === true
        ? mark("stopped", "Stopped for your next message. Everything above is kept.")
        : mark("stopped", "Stopped. Everything above is kept.");
    return device == null ? stopped : { ...stopped, device };
  }
  if ("failed" in end) return mark("failed", end.failed.error);
  if (run.recovery === "Recovering") return mark("recovering", "Interrupted. Recovering output…");
  if (run.recovery === "Recovered") {
    return mark("recovered", "Interrupted. The output was recovered from the run journal.");
  }
  return mark("interrupted", "Interrupted. The run ended here.");
}
