// The only function that changes a session's state: what an entry means. The twin of the server's `fold.rs`, held to the
// same golden logs. Pure: a state is never changed, what did not change keeps its identity.

import * as deliveries from "./deliveries";
import { EMPTY } from "./empty";
import { abandoned, begun, completed, ended, owes, reassigned, taken } from "./memory";
import { charactersOf, joined } from "./parts";
import * as tags from "./tags";
import { provisional, titleText } from "./title";
import { plus } from "./usage";
import type { Call, Entry, Event, EventOf, Piece, Queued, Run, RunEnd, State, Turn } from "./types";
import { variant } from "./variants";

const TURNS_MAX = 64;
const STATE_BYTES_MAX = 256 * 1024;
const UNDONE_MAX = 16;
const ANSWERS_PER_TURN_MAX = 32;
const TURN_BYTES_MAX = 1024 * 1024;
const RUN_BYTES = 256;

/** A log that does not go on where the state ends: the reader follows anew. */
export class Gap extends Error {
  constructor(
    readonly head: number,
    readonly found: number,
  ) {
    super(`entry ${found} does not follow ${head}`);
  }
}

/** Applies entries in order. What the state has already is passed over, so that a repeat changes nothing. */
export function fold(state: State, entries: readonly Entry[]): State {
  let folded = state;
  for (const entry of entries) {
    const head = folded.link.seq;
    if (entry.seq <= head) continue;
    if (entry.seq !== head + 1) throw new Gap(head, entry.seq);
    folded = step(folded, entry);
  }
  return folded;
}

/** Applies one entry. Skips an entry of a newer version that cannot be read, but advances the position. */
function step(state: State, entry: Entry): State {
  try {
    return applied(state, entry);
  } catch {
    return { ...state, link: { ...state.link, seq: entry.seq } };
  }
}

/** Applies an entry, or throws if it cannot be read. */
export function applied(state: State, entry: Entry): State {
  const link = { ...state.link, seq: entry.seq };
  // An event kind of a newer version, encoded as a string.
  if (typeof entry.event !== "object") return { ...state, link };
  const moves = movesActivity(entry.event) && !isHealed(state, entry.event);
  const active_at = moves ? Math.max(state.active_at, entry.time) : state.active_at;
  const needs = needAfter(state.needs ?? null, entry.event);
  return apply({ ...state, link, active_at, needs }, entry);
}

/** Why the newest turn waits for a person after an event. */
function needAfter(before: State["needs"], event: Event): State["needs"] {
  const end = said(event, "run_ended")?.end;
  if (end !== undefined) {
    if (variant(end, "failed") !== undefined) return "failed";
    return variant(end, "interrupted") !== undefined ? "interrupted" : null;
  }
  const over = [
    "run_started",
    "session_branched",
    "turns_undone",
    "session_cleared",
    "answer_chosen",
    "queue_paused",
  ];
  return over.some((kind) => kind in event) ? null : before;
}

/** What a kind of event is called, and what it says. */
function said<K extends string>(event: Event, kind: K): EventOf<K> | undefined {
  return (event as Record<string, unknown>)[kind] as EventOf<K> | undefined;
}

const OUTPUT = [
  "step_started",
  "text_added",
  "reasoning_added",
  "call_drafted",
  "call_asked",
  "call_finished",
  "usage_reported",
  "provider_part_added",
  "retry_scheduled",
] as const;

/** The run whose output an event is. */
function outputOf(event: Event): number | undefined {
  for (const kind of OUTPUT) {
    const output = said(event, kind);
    if (output !== undefined) return output.run;
  }
  return undefined;
}

function isHealed(state: State, event: Event): boolean {
  const run = outputOf(event);
  return run !== undefined && state.open_run !== run;
}

function movesActivity(event: Event): boolean {
  const end = said(event, "run_ended")?.end;
  if (end !== undefined) return variant(end, "interrupted") === undefined;
  const kinds = [
    "session_created",
    "session_branched",
    "session_renamed",
    "message_posted",
    "message_edited",
    "run_started",
    "call_finished",
  ];
  return kinds.some((kind) => kind in event);
}

type Apply = { [K in Kinds]?: (state: State, said: EventOf<K>, entry: Entry) => State };
type Kinds = Extract<Event, unknown> extends infer E ? (E extends object ? keyof E & string : never) : never;

const ARMS: Apply = {
  session_created: (state, { id, title, after, user }, { time }) => ({
    ...state,
    ids: [...state.ids, id],
    user: user ?? EMPTY.user,
    created_at: time,
    after: after ?? null,
    title: title == null ? null : { person: title },
  }),
  session_branched: (state, { id, from }, { time }) => beginBranch(state, id, from, time),
  session_renamed: (state, { title }) => ({ ...state, title: { person: title } }),
  request_billed: (state, { run, purpose, usage }) => {
    const billed = editRun(state, run, (known) => ({ ...known, usage: plus(known.usage, usage) }));
    return purpose === "title" ? { ...billed, titles_requested: (billed.titles_requested ?? 0) + 1 } : billed;
  },
  title_generated: (state, { title }) =>
    variant(state.title, "person") !== undefined ? state : { ...state, title: { generated: title } },
  flag_set: (state, { flag, on }, { time }) => {
    if (flag === "pinned") return { ...state, pinned: on };
    if (flag === "archived") return { ...state, archived: on };
    if (flag === "trashed")
      return { ...state, trashed: on, trashed_at: on ? (state.trashed_at ?? time) : null };
    return state;
  },
  tags_set: (state, { tags }) => ({ ...state, tags }),
  project_set: (state, { project }) => ({ ...state, project: project ?? null }),
  id_added: (state, { id }) => ({ ...state, ids: [...state.ids, id] }),
  id_removed: (state, { id }) => ({ ...state, ids: state.ids.filter((other) => other !== id) }),
  message_posted: (state, { message, mode }, { seq, time }) => {
    const queued: Queued = { turn: seq, message, posted_at: time, mode, paused: false };
    const queue = mode === "interrupt" ? [queued, ...state.queue] : [...state.queue, queued];
    return { ...state, queue, title: state.title ?? provisional(message) };
  },
  queued_edited: (state, { turn, message, mode }) => ({
    ...state,
    queue: state.queue.map((queued) =>
      // A message that is to do something else from now on waits for no one.
      queued.turn === turn
        ? { ...queued, message, ...(mode == null ? {} : { mode, paused: false }) }
        : queued,
    ),
  }),
  queued_removed: (state, { turn }) => ({
    ...state,
    queue: state.queue.filter((queued) => queued.turn !== turn),
  }),
  message_steered: (state, { turn, run }) => steer(state, turn, run),
  message_edited: (state, { turn, message, hides }, { seq, time }) => {
    const hidden = hideFrom(state, turn, hides);
    const queued: Queued = { turn: seq, message, posted_at: time, mode: "interrupt", paused: false };
    const queue = [queued, ...hidden.queue];
    return { ...hidden, queue, title: hidden.title ?? provisional(message) };
  },
  queue_paused: (state) => ({ ...state, queue: state.queue.map((queued) => ({ ...queued, paused: true })) }),
  queue_resumed: (state) => ({
    ...state,
    queue: state.queue.map((queued) => ({ ...queued, paused: false })),
  }),
  turns_undone: (state, { from, hides }) => hideFrom(state, from, hides),
  turns_put_back: (state) => {
    const last = state.undone.at(-1);
    if (last === undefined) return state;
    const undone = state.undone.slice(0, -1);
    const before = last.before ?? 0;
    if (before === 0) return bound({ ...state, turns: [...state.turns, ...last.turns], undone });
    // The state holds a gapless range up to the newest turn, and the step lacks its oldest turns.
    const turns_before = state.turns_before + before + state.turns.length;
    return bound({ ...state, turns: last.turns, turns_before, undone });
  },
  session_cleared: (state) => ({ ...state, turns: [], turns_before: 0, undone: [], summary: null }),
  answer_chosen: (state, { turn, run }) => ({
    ...state,
    turns: state.turns.map((known) => (known.id === turn ? { ...known, chosen: run } : known)),
  }),
  run_started: (state, { turn, cause, spool }, { seq, time }) =>
    startRun(state, turn, newRun(seq, cause, spool ?? null, time)),
  run_ended: (state, { turn, run, end }, { seq, time }) => {
    const over = endRun(state, turn, run, end, time);
    return end === "completed" ? { ...over, memory: completed(over.memory, seq) } : over;
  },
  recovery_attempted: (state, { run, attempts }) => {
    const first = state.recovering.find((known) => known.run === run);
    const recovering = state.recovering.map((known) => (known === first ? { ...known, attempts } : known));
    return { ...state, recovering };
  },
  recovery_settled: (state, { run, outcome }) => {
    const recovering = state.recovering.filter((known) => known.run !== run);
    const recovery = outcome === "recovered" ? "recovered" : "neutral";
    return editRun({ ...state, recovering }, run, (known) => ({ ...known, ...tags.finish(known), recovery }));
  },
  context_compacted: (state, { summary, through }) => ({ ...state, summary: { text: summary, through } }),
  resume_marked: (state, { reason, at }) => ({ ...state, resume: { reason, at: readableTime(at) } }),
  resume_cleared: (state) => ({ ...state, resume: null }),
  memory_owner_set: (state, { owner }) => ({ ...state, memory: owes(state.memory, owner ?? null) }),
  memory_reassigned: (state, { first, to }) => ({ ...state, memory: reassigned(state.memory, first, to) }),
  memory_commit_started: (state, _, { seq }) => ({ ...state, memory: begun(state.memory, seq) }),
  memory_commit_accepted: (state, { commit, task }) => ({
    ...state,
    memory: taken(state.memory, commit, task),
  }),
  memory_commit_ended: (state, { commit, outcome }) => ({
    ...state,
    memory: ended(state.memory, commit, outcome),
  }),
  delivery_owed: (state, owed) => ({
    ...state,
    deliveries: deliveries.owed(state.deliveries ?? [], owed, () => lettersOf(state, owed)),
  }),
  delivery_attempted: (state, { answer, part }) => ({
    ...state,
    deliveries: deliveries.attempted(state.deliveries ?? [], answer, part),
  }),
  delivery_unsent: (state, { answer, part }) => ({
    ...state,
    deliveries: deliveries.unsent(state.deliveries ?? [], answer, part),
  }),
  part_delivered: (state, { answer, part, receipt }) => ({
    ...state,
    deliveries: deliveries.arrived(state.deliveries ?? [], answer, part, receipt),
  }),
  chat_notified: (state, { answer, run }) => ({
    ...state,
    deliveries: deliveries.notified(state.deliveries ?? [], answer, run),
  }),
  delivery_ended: (state, { answer, outcome }) => ({
    ...state,
    deliveries: deliveries.ended(state.deliveries ?? [], answer, outcome),
  }),
};

function apply(state: State, entry: Entry): State {
  const run = outputOf(entry.event);
  if (run !== undefined)
    return editRun(state, run, (known) => ({
      // Whatever follows a wait shows that it is over.
      ...output({ ...known, retry: undefined }, entry.event, entry.time),
      // Output recovered after the run ended does not change its time.
      last_at: known.end == null ? Math.max(known.last_at, entry.time) : known.last_at,
    }));
  for (const [kind, told] of Object.entries(entry.event)) {
    // Kinds of a later version are kept by the server and skipped here.
    const arm = ARMS[kind as Kinds] as ((state: State, said: unknown, entry: Entry) => State) | undefined;
    if (arm !== undefined) return arm(state, told, entry);
  }
  return state;
}

/** Returns a time, or null if it is not readable. */
function readableTime(at: unknown): number | null {
  return typeof at === "number" && Number.isSafeInteger(at) ? at : null;
}

/** What a run's own output changes in it. */
function output(run: Run, event: Event, time: number): Run {
  const step = said(event, "step_started");
  if (step !== undefined) {
    const asked_to_continue = run.asked_to_continue || step.asked_to_continue === true;
    return { ...run, ...tags.finish(run), tags: tags.START, steps: step.step, asked_to_continue };
  }
  const text = said(event, "text_added");
  if (text !== undefined) return { ...run, ...tags.feed(run, text.text) };
  const reasoning = said(event, "reasoning_added");
  if (reasoning !== undefined) {
    return { ...run, pieces: tags.push(run.pieces, "reasoning", reasoning.text) };
  }
  const drafted = said(event, "call_drafted");
  if (drafted !== undefined) {
    const flushed = { ...run, ...tags.flush(run) };
    return editCall(flushed, drafted.call, drafted.tool, (call) => ({
      ...call,
      arguments: call.arguments + drafted.arguments,
    }));
  }
  const asked = said(event, "call_asked");
  if (asked !== undefined) {
    const flushed = { ...run, ...tags.flush(run) };
    return editCall(flushed, asked.call, asked.tool, (call) => ({
      ...call,
      arguments: asked.arguments,
      provider_call: asked.provider_call ?? null,
      state: "asked",
    }));
  }
  const finished = said(event, "call_finished");
  if (finished !== undefined) {
    return editCall(run, finished.call, "", (call) => ({ ...call, state: { finished: finished.outcome } }));
  }
  const used = said(event, "usage_reported")?.usage;
  if (used !== undefined) return { ...run, usage: plus(run.usage, used) };
  const part = said(event, "provider_part_added")?.part;
  if (part !== undefined) {
    return { ...run, parts: [...(run.parts ?? []), { pieces_before: run.pieces.length, part }] };
  }
  const retry = said(event, "retry_scheduled");
  if (retry === undefined || run.end != null) return run;
  const { reason, error, wait_ms } = retry;
  return { ...run, retry: { reason, error, until: time + wait_ms * 1000 } };
}

function editCall(run: Run, no: number, tool: string, edit: (call: Call) => Call): Run {
  const at = run.pieces.findLastIndex((piece) => variant(piece, "call")?.no === no);
  const known = variant(run.pieces[at], "call");
  if (known !== undefined) return { ...run, pieces: run.pieces.with(at, { call: edit(known) }) };
  const call: Call = { no, tool, arguments: "", provider_call: null, state: "drafted" };
  return { ...run, pieces: [...run.pieces, { call: edit(call) }] };
}

/** Finds a run that may still take output: in the visible turns, or in those just taken back. */
function editRun(state: State, run: number, edit: (run: Run) => Run): State {
  const inTurns = (turns: Turn[]): Turn[] | undefined => {
    for (let at = turns.length - 1; at >= 0; at -= 1) {
      const turn = turns[at];
      const place = turn?.runs.findLastIndex((known) => known.id === run) ?? -1;
      const found = turn?.runs[place];
      if (turn !== undefined && found !== undefined) {
        return turns.with(at, { ...turn, runs: turn.runs.with(place, edit(found)) });
      }
    }
    return undefined;
  };
  const turns = inTurns(state.turns);
  if (turns !== undefined) return { ...state, turns };
  for (const [at, undone] of state.undone.entries()) {
    const turns = inTurns(undone.turns);
    if (turns !== undefined) return { ...state, undone: state.undone.with(at, { ...undone, turns }) };
  }
  return state;
}

function newRun(id: number, cause: Run["cause"], spool: number | null, started_at: number): Run {
  return {
    id,
    cause,
    started_at,
    spool,
    steps: 0,
    pieces: [],
    usage: { input_tokens: 0, output_tokens: 0 },
    end: null,
    ended_at: null,
    recovery: "none",
    tags: tags.START,
    asked_to_continue: false,
    last_at: started_at,
  };
}

/** A branch has the turns, tags and project of its origin, but neither its queue, nor its marks, nor a run in mid-air. */
function beginBranch(state: State, id: string, origin: string, time: number): State {
  const close = (run: Run): Run => ({
    ...run,
    ...tags.finish(run),
    ...(run.end == null ? { end: { stopped: {} }, ended_at: time, retry: undefined } : {}),
    recovery: run.recovery === "recovering" ? "neutral" : run.recovery,
  });
  const title = titleText(state.title);
  const named = title !== null && variant(state.title, "provisional") === undefined;
  return {
    ...state,
    turns: state.turns.map((turn) => ({ ...turn, runs: turn.runs.map(close) })),
    created_at: time,
    after: null,
    origin,
    pinned: false,
    archived: false,
    trashed: false,
    trashed_at: null,
    ids: [id],
    queue: [],
    undone: [],
    recovering: [],
    open_run: null,
    interrupted_in_a_row: 0,
    resume: null,
    memory: abandoned(),
    deliveries: [],
    title: named ? { generated: title } : state.title,
  };
}

function startRun(before: State, turn: number, run: Run): State {
  let state: State = before;
  const waiting = state.queue.find((queued) => queued.turn === turn);
  if (waiting !== undefined) {
    const { message, posted_at } = waiting;
    state = {
      ...state,
      queue: state.queue.filter((queued) => queued !== waiting),
      turns: [...state.turns, { id: turn, message, posted_at, runs: [], chosen: null }],
      undone: [],
    };
  }
  state = { ...bound(state), open_run: run.id };
  const at = state.turns.findLastIndex((known) => known.id === turn);
  const known = state.turns[at];
  if (known === undefined) return state;
  const chosen = known.chosen == null || !goesOn(run) ? run.id : known.chosen;
  const runs = known.runs.toSpliced(endOfAnswer({ ...known, chosen }, run), 0, run);
  return { ...state, turns: state.turns.with(at, forgetAlternatives({ ...known, chosen, runs })) };
}

export function goesOn(run: Run): boolean {
  return run.cause === "continue" || run.cause === "resume";
}

/** The turn's answers: each a run that began one, with the runs that went on from it. */
export function answers(turn: Turn): Run[][] {
  const answers: Run[][] = [];
  for (const run of turn.runs) {
    const last = answers.at(-1);
    if (last !== undefined && goesOn(run)) last.push(run);
    else answers.push([run]);
  }
  return answers;
}

/** Characters of what the agent said in an answer. */
function lettersOf(state: State, { turn, answer }: { turn: number; answer: number }): number {
  const known = state.turns.find(({ id }) => id === turn);
  const runs = known === undefined ? [] : answers(known).find(([first]) => first?.id === answer);
  const { parts } = joined(runs ?? []);
  return parts.reduce((sum, part) => sum + charactersOf(variant(part, "text") ?? ""), 0);
}

/** Where a run goes among the others: after the answer that it goes on with, or last. */
function endOfAnswer(turn: Turn, run: Run): number {
  if (!goesOn(run)) return turn.runs.length;
  const from = run.cause === "continue" ? turn.chosen : Math.max(...turn.runs.map((known) => known.id));
  let end = 0;
  for (const answer of answers(turn)) {
    end += answer.length;
    if (answer.some((known) => known.id === from)) return end;
  }
  return end;
}

/** Lets the oldest answers go, but neither the one that is shown nor the one that is being given. */
function forgetAlternatives(turn: Turn): Turn {
  const size = sizeOf(turn) + turn.runs.length * RUN_BYTES;
  if (answers(turn).length <= ANSWERS_PER_TURN_MAX && size <= TURN_BYTES_MAX) return turn;
  const newest = Math.max(...turn.runs.map((run) => run.id));
  const keeps = (run: Run) => run.id === newest || run.id === turn.chosen;
  let start = 0;
  for (const answer of answers(turn)) {
    if (!answer.some(keeps)) {
      return forgetAlternatives({ ...turn, runs: turn.runs.toSpliced(start, answer.length) });
    }
    start += answer.length;
  }
  return turn;
}

function endRun(before: State, turn: number, run: number, end: RunEnd, time: number): State {
  let state: State = before.open_run === run ? { ...before, open_run: null } : before;
  const interrupted = variant(end, "interrupted");
  if (interrupted !== undefined) {
    // Output since the last interruption proves that the answer moves on.
    const before = interrupted.progress === true ? 0 : state.interrupted_in_a_row;
    state = { ...state, interrupted_in_a_row: before + 1 };
  } else if (end === "completed") {
    state = { ...state, interrupted_in_a_row: 0, resume: null };
  } else if (variant(end, "output_limit") !== undefined) {
    state = { ...state, interrupted_in_a_row: 0, resume: null };
  }
  let spool: number | null = null;
  state = editRun(state, run, (known) => {
    spool = known.spool ?? null;
    // The text of a run that is being recovered may go on inside the same tags.
    const rest: Partial<Run> =
      interrupted?.recovering === true ? { recovery: "recovering" } : tags.finish(known);
    return { ...known, ...rest, end, ended_at: time, retry: undefined };
  });
  if (interrupted?.recovering !== true) return state;
  const { reason } = interrupted;
  return {
    ...state,
    recovering: [...state.recovering, { turn, run, spool, attempts: 0, first_seen: time, reason }],
  };
}

function steer(state: State, turn: number, run: number): State {
  const queued = state.queue.find((known) => known.turn === turn);
  if (queued === undefined) return state;
  const queue = state.queue.filter((known) => known !== queued);
  const steered: Piece = { steered: { turn, message: queued.message } };
  return editRun({ ...state, queue }, run, (known) => {
    const finished = tags.finish(known);
    return { ...known, ...finished, pieces: [...finished.pieces, steered] };
  });
}

/** Takes the turns from `from` on out of sight: those in the state, and of the older ones as many as `hides` says. */
function hideFrom(state: State, from: number, hides?: number | null): State {
  const found = state.turns.findIndex((turn) => turn.id === from);
  const at = Math.max(found, 0);
  const before = found < 0 ? Math.max(0, (hides ?? 0) - state.turns.length) : 0;
  if (found < 0 && before === 0) return state;
  const turns = state.turns.slice(at);
  const through = state.summary?.through;
  const told =
    turns.some((turn) => turn.id === through) || (before > 0 && through !== undefined && through >= from);
  const undone = [...state.undone, { from, turns, ...(before > 0 && { before }) }].slice(-UNDONE_MAX);
  return {
    ...state,
    turns: state.turns.slice(0, at),
    turns_before: Math.max(0, state.turns_before - before),
    undone: boundUndone(undone),
    summary: told ? null : state.summary,
  };
}

/** Lets the oldest turns go that were taken back before the latest step. */
function boundUndone(undone: State["undone"]): State["undone"] {
  const earlier = undone.slice(0, -1);
  let size = earlier.flatMap(({ turns }) => turns).reduce((sum, turn) => sum + sizeOf(turn), 0);
  if (size <= STATE_BYTES_MAX) return undone;
  const bounded = earlier.map((step) => {
    let gone = 0;
    for (const turn of step.turns) {
      if (size <= STATE_BYTES_MAX) break;
      size -= sizeOf(turn);
      gone += 1;
    }
    return gone === 0 ? step : { ...step, turns: step.turns.slice(gone), before: (step.before ?? 0) + gone };
  });
  return [...bounded, ...undone.slice(-1)];
}

const encoder = new TextEncoder();

function bytes(text: string): number {
  return encoder.encode(text).length;
}

/** Bytes of a turn's content, counted once for each turn that no longer changes. */
const sizes = new WeakMap<Turn, number>();

function sizeOf(turn: Turn): number {
  const known = sizes.get(turn);
  if (known !== undefined) return known;
  const pieces = turn.runs.flatMap((run) => run.pieces);
  const parts = turn.runs.flatMap((run) => run.parts ?? []);
  const content = bytes(turn.message.text) + parts.reduce((sum, { part }) => sum + bytes(part.data), 0);
  const size = pieces.reduce((sum, piece) => sum + pieceSize(piece), content);
  sizes.set(turn, size);
  return size;
}

function pieceSize(piece: Piece): number {
  const text =
    variant(piece, "text") ?? variant(piece, "reasoning") ?? variant(piece, "steered")?.message.text;
  if (text !== undefined) return bytes(text);
  const call = variant(piece, "call");
  if (call === undefined) return 0;
  return bytes(call.arguments) + bytes(variant(call.state, "finished")?.content ?? "");
}

/** Lets the oldest turns go once the state is full. The newest turn always stays. */
function bound(state: State): State {
  let size = state.turns.reduce((sum, turn) => sum + sizeOf(turn), 0);
  let gone = 0;
  const left = () => state.turns.length - gone;
  while (left() > TURNS_MAX || (size > STATE_BYTES_MAX && left() > 1)) {
    const oldest = state.turns[gone];
    size -= oldest === undefined ? 0 : sizeOf(oldest);
    gone += 1;
  }
  if (gone === 0) return state;
  return { ...state, turns: state.turns.slice(gone), turns_before: state.turns_before + gone };
}
