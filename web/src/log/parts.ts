// The parts of an answer with all its runs, as one: a text that was interrupted and continued is one text, and where it was
// interrupted is noted beside it. The twin of the server's `joined.rs`.

import { marker } from "./marker";
import { join, type Stage } from "./seam";
import type { Call, CallProgress, Interruption, Marker, Part, Piece, Run } from "./types";
import { variant } from "./variants";

type PartOfCall = Extract<Part, { call: unknown }>["call"];

/** An answer as readers get it. */
export interface Joined {
  parts: Part[];
  interruptions: Interruption[];
}

/** Joins the runs of one answer. */
export function joined(runs: readonly Run[]): Joined {
  const answer: Joined = { parts: [], interruptions: [] };
  for (const [at, run] of runs.entries()) {
    add(answer, run);
    const end = at + 1 < runs.length ? marker(run) : null;
    if (end !== null) interrupt(answer, end);
  }
  return answer;
}

function add(answer: Joined, run: Run): void {
  const { parts } = answer;
  /** Whether the last part is of an earlier run, and may be continued. */
  let continues = parts.length > 0;
  textLast(answer);
  for (const [at, piece] of run.pieces.entries()) {
    const last = parts.at(-1);
    if (continues && last !== undefined && isText(piece) && isText(last)) {
      // A text is over when something follows it.
      const stage = at + 1 < run.pieces.length ? "completed" : stageOf(run);
      parts[parts.length - 1] = textBehind(last, piece, run.asked_to_continue ? stage : undefined);
      continues = false;
    } else if (continues && last !== undefined && isThought(piece) && isThought(last)) {
      parts[parts.length - 1] = thoughtBehind(last, piece);
    } else if (continues && last !== undefined && isThought(piece) && isText(last)) {
      think(answer, piece, run);
    } else {
      parts.push(partOf(piece, run));
      continues = false;
    }
  }
}

/** Moves the last text behind the reasoning and incomplete calls that follow it, because the next run continues that text. */
function textLast(answer: Joined): void {
  const { parts } = answer;
  const at = parts.findLastIndex(isText);
  const text = parts[at];
  const behind = parts.slice(at + 1);
  if (text === undefined || !isText(text) || behind.length === 0 || !behind.every(mayMove)) return;
  parts.splice(at, 1);
  parts.push(text);
  const last = parts.length - 1;
  const moved = answer.interruptions.map((cut) => {
    if (cut.part < at) return cut;
    return cut.part === at ? { ...cut, part: last } : { ...cut, part: last, offset: charactersOf(text.text) };
  });
  // Of two at the same place, the later one counts.
  const same = (one: Interruption, other: Interruption | undefined) =>
    one.part === other?.part && one.offset === other.offset;
  answer.interruptions = moved.filter((cut, index) => !same(cut, moved[index + 1]));
}

function mayMove(part: Part): boolean {
  return isThought(part) || variant(part, "call")?.state === "incomplete";
}

function stageOf({ end }: Run): Stage {
  return end === "completed" ? "completed" : "unfinished";
}

type Text = Extract<Piece, { text: string }>;
type Thought = Extract<Piece, { reasoning: string }>;

function isText(part: Piece | Part): part is Text {
  return variant(part, "text") !== undefined;
}

function isThought(part: Piece | Part): part is Thought {
  return variant(part, "reasoning") !== undefined;
}

/** A model that thinks before it continues: the thought goes before the text, so that the text stays one. */
function think({ parts, interruptions }: Joined, piece: Thought, run: Run): void {
  const last = parts.length - 1;
  const before = parts[last - 1];
  if (before !== undefined && isThought(before)) {
    parts[last - 1] = thoughtBehind(before, piece);
    return;
  }
  parts.splice(last, 0, partOf(piece, run));
  for (const cut of interruptions) if (cut.part >= last) cut.part += 1;
}

/** Notes where a run ended. One that brought nothing ended where the one before it did. */
function interrupt({ parts, interruptions }: Joined, end: Marker): void {
  const last = parts.at(-1);
  const text = variant(last, "text") ?? variant(last, "reasoning") ?? "";
  const cut = { part: Math.max(0, parts.length - 1), offset: charactersOf(text), marker: end };
  const before = interruptions.at(-1);
  if (before !== undefined && before.part === cut.part && before.offset === cut.offset) interruptions.pop();
  interruptions.push(cut);
}

/** Counts Unicode scalars. */
export function charactersOf(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

/** What was made of a piece and the part before it; made again when one of them changed. */
interface Made {
  before: Part;
  stage: Stage | undefined;
  part: Part;
}

const behind = new WeakMap<Piece, Made>();

/** Parts that did not change stay the same, so that a long turn draws only what grows. */
function kept(piece: Piece, before: Part, stage: Stage | undefined, make: () => Part): Part {
  const known = behind.get(piece);
  if (known?.before === before && known.stage === stage) return known.part;
  const part = make();
  behind.set(piece, { before, stage, part });
  return part;
}

/** `stage` is given where the model was asked to continue, so that the seam needs repair. */
function textBehind(before: Text, piece: Text, stage: Stage | undefined): Part {
  const text = () => (stage === undefined ? before.text + piece.text : join(before.text, piece.text, stage));
  return kept(piece, before, stage, () => ({ text: text() }));
}

function thoughtBehind(before: Thought, piece: Thought): Part {
  return kept(piece, before, undefined, () => ({ reasoning: `${before.reasoning}\n\n${piece.reasoning}` }));
}

const partViews = new WeakMap<Piece, Part>();
/** The part for every piece that this version does not know. */
const NEWER: Part = { newer: {} };

function partOf(piece: Piece, run: Run): Part {
  if (typeof piece !== "object") return NEWER;
  const known = partViews.get(piece);
  if (known !== undefined) return known;
  const call = variant(piece, "call");
  const made = call === undefined ? partOfWords(piece) : { call: callOf(call, run) };
  // What a call without a result looks like depends on its run.
  if (call === undefined || variant(call.state, "finished") !== undefined) partViews.set(piece, made);
  return made;
}

function partOfWords(piece: Piece): Part {
  const [text, reasoning] = [variant(piece, "text"), variant(piece, "reasoning")];
  if (text !== undefined) return { text };
  if (reasoning !== undefined) return { reasoning };
  const steered = variant(piece, "steered");
  return steered === undefined ? NEWER : { steered };
}

function callOf({ no, tool, arguments: given, state }: Call, run: Run): PartOfCall {
  const call = { call: no, tool, arguments: given };
  const outcome = variant(state, "finished");
  if (outcome === undefined) return { ...call, state: progressOf(state, run), result: null };
  return { ...call, state: outcome.status === "error" ? "failed" : "finished", result: outcome.content };
}

/** Returns the progress of a call without an outcome. */
function progressOf(state: Call["state"], run: Run): CallProgress {
  if (state === "drafted") return "incomplete";
  if (state !== "asked") return "newer";
  return run.end == null ? "running" : "may_have_run";
}
