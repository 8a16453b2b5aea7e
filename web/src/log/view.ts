// What a reader sees of a state: the twin of the server's `view.rs`, held to the same golden views. A turn that did not
// change gives the same view again, so that only what changed is drawn.

import { answers } from "./fold";
import { marker } from "./marker";
import { joined } from "./parts";
import { titleText } from "./title";
import type { Part, Run, State, Turn, TurnView, View } from "./types";
import { isUsed, plus } from "./usage";
import { variant } from "./variants";

/** Interruptions without new output in between, after which an answer does not resume by itself. */
const INTERRUPTED_IN_A_ROW_MAX = 3;

const turnViews = new WeakMap<Turn, TurnView>();

export function view(state: State): View {
  const turns = state.turns.map((turn) => {
    const shown = turnView(turn);
    const recovering = state.recovering.findLast(
      (known) => known.turn === shown.turn && known.run === shown.marker?.run,
    );
    if (recovering === undefined || shown.marker == null) return shown;
    const { attempts, first_seen } = recovering;
    return { ...shown, marker: { ...shown.marker, attempts, first_seen } };
  });
  const owed = state.memory.segments.flatMap(({ owner, first, last, error }) =>
    owner == null ? [] : [{ owner, turns: last - first + 1, ...(error == null ? {} : { error }) }],
  );
  return {
    seq: state.link.seq,
    title: titleText(state.title),
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
    ...(state.summary == null ? {} : { summarized_through: state.summary.through }),
    queue: state.queue.map(({ paused, ...queued }) => (paused === true ? { ...queued, paused } : queued)),
    run: state.open_run ?? null,
    ...(isStuck(state) ? { stuck: true } : {}),
    can_put_back: state.undone.length > 0 && state.open_run == null,
    ...(state.resume == null ? {} : { resume: state.resume }),
    ...(owed.length === 0 ? {} : { owed }),
    ...((state.deliveries ?? []).length === 0 ? {} : { deliveries: state.deliveries }),
  };
}

/** Whether the newest run was interrupted so often without output in between that it no longer resumes by itself. */
function isStuck(state: State): boolean {
  // A branch, an undo or another chosen answer cleared it.
  if (state.open_run != null || state.needs !== "interrupted" || state.trashed) return false;
  if (state.interrupted_in_a_row < INTERRUPTED_IN_A_ROW_MAX) return false;
  const turn = state.turns.at(-1);
  const runs = turn === undefined ? [] : shownRuns(turn);
  const newest = Math.max(...(turn?.runs ?? []).map(({ id }) => id));
  const end = runs.find(({ id }) => id === newest)?.end;
  return end != null && variant(end, "interrupted") !== undefined;
}

/** The runs of the answer that is shown. */
function shownRuns(turn: Turn): Run[] {
  return answers(turn).find((runs) => runs.some((run) => run.id === turn.chosen)) ?? [];
}

/**
 * Returns the view of one turn, without recovery bookkeeping. Falls back to the text of a turn that this
 * version cannot read.
 */
export function turnView(turn: Turn): TurnView {
  const known = turnViews.get(turn);
  if (known !== undefined) return known;
  let shown: TurnView;
  try {
    shown = wholeTurn(turn);
  } catch {
    shown = wordsOf(turn);
  }
  turnViews.set(turn, shown);
  return shown;
}

/** Returns a turn with only the text and reasoning of its newest run. */
function wordsOf(turn: Turn): TurnView {
  const run = turn.runs.at(-1);
  const texts = (run?.pieces ?? []).flatMap((piece): Part[] => {
    const [text, reasoning] = [variant(piece, "text"), variant(piece, "reasoning")];
    return text !== undefined ? [{ text }] : reasoning !== undefined ? [{ reasoning }] : [];
  });
  return {
    turn: turn.id,
    posted_at: turn.posted_at,
    message: turn.message,
    answer: run === undefined ? null : { run: run.id, parts: texts, complete: run.end === "completed" },
    marker: null,
    alternatives: turn.runs.map(({ id }) => id),
  };
}

function wholeTurn(turn: Turn): TurnView {
  const all = answers(turn);
  const runs = shownRuns(turn);
  const { parts, interruptions } = joined(runs);
  const first = runs[0];
  const last = runs.at(-1);
  const usage = runs.map((run) => run.usage).reduce(plus, { input_tokens: 0, output_tokens: 0 });
  return {
    turn: turn.id,
    posted_at: turn.posted_at,
    message: turn.message,
    answer:
      first === undefined || parts.length === 0
        ? null
        : {
            run: first.id,
            parts,
            complete: last?.end === "completed",
            ...(interruptions.length === 0 ? {} : { interruptions }),
          },
    marker: last === undefined ? null : marker(last),
    alternatives: all.flatMap((runs) => (runs[0] === undefined ? [] : [runs[0].id])),
    ...(last?.retry == null ? {} : { retry: last.retry }),
    ...(isUsed(usage) ? { usage } : {}),
  };
}
