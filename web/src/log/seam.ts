// Joins the texts of an answer that was interrupted and continued, so that it reads as one text.
//
// A model that takes a prefix continues exactly where its text ends. Any other model is asked to continue, and may repeat
// the end of the text, open a code fence again, comment on the interruption, or begin on a new line. The log keeps every
// byte; the seam is repaired here. The twin of the server's `seam.rs`: `fixtures/seams.json` holds both to the same cases.

import { trim, trimStart } from "./whitespace";

/** Characters at the beginning of a continuation in which a repetition is looked for. */
const WINDOW = 400;
/** Characters after which a continuation that does not comment on the interruption is shown. */
const COMMENT_WINDOW = 80;
/** Characters that a repetition has at least. */
const OVERLAP_MIN = 8;
/** Characters that a repetition has at least when something else comes before it. */
const OVERLAP_AFTER_COMMENT_MIN = 24;
/** Words of a model that comments on the interruption before it repeats what it wrote. */
const COMMENTS = ["sorry", "apolog", "continu", "cut off", "interrupt", "resum", "left off"];

/**
 * How far the run came whose text is joined to the text before it. Until it is complete, text that may turn out to be a
 * repetition or a comment is held back, so that nothing shown is taken back; the next run is asked to continue what was
 * shown.
 */
export type Stage = "unfinished" | "completed";

/** What becomes of a continuation: its beginning is dropped, and the rest follows behind a separator. */
interface Seam {
  dropped: number;
  separator: string;
}

/** Appends the text of a run that was asked to continue. The result always begins with `previous`. */
export function join(previous: string, text: string, stage: Stage): string {
  const found = seam(previous, text, stage);
  return found === undefined ? previous : previous + found.separator + text.slice(found.dropped);
}

/** Where the continuation begins; none while it is held back. */
function seam(previous: string, text: string, stage: Stage): Seam | undefined {
  if (text === "") return undefined;
  if (previous === "") return at(0);
  const block = openBlock(previous);
  let begin = 0;
  if (block !== undefined) {
    const fence = reopened(text, block);
    if (fence.kind === "unfinished" && stage === "unfinished") return undefined;
    if (fence.kind === "named") begin = fence.end;
    if (fence.kind === "bare") {
      // A bare fence closes the block, unless the block is repeated behind it.
      const rest = text.slice(fence.end);
      const repeated = overlap(previous, rest);
      if (repeated !== undefined) return at(fence.end + repeated);
      if (stage === "unfinished" && trimStart(rest) !== "" && repeats(previous, rest)) return undefined;
    }
  }
  const rest = text.slice(begin);
  // The repetition may still grow.
  if (stage === "unfinished" && repeats(previous, rest)) return undefined;
  const repeated = overlap(previous, rest);
  if (repeated !== undefined) return at(begin + repeated);
  if (stage === "unfinished") {
    const count = charactersUpTo(rest, WINDOW);
    if (count < COMMENT_WINDOW || (count < WINDOW && comments(rest))) return undefined;
  }
  if (block !== undefined)
    return { dropped: begin, separator: begin > 0 && /[;{}:,)\]>]$/.test(previous) ? "\n" : "" };
  return between(previous, rest);
}

function at(dropped: number): Seam {
  return { dropped, separator: "" };
}

/** How much of the continuation repeats what stands at the end of `previous`, with what comes before the repetition. */
function overlap(previous: string, rest: string): number | undefined {
  const begun = trimStart(rest);
  const window = first(begun, WINDOW);
  // From the longest on, and only where the last characters are the same: this runs with every piece that streams in.
  const end = last(previous, 1);
  const isLong = charactersUpTo(window, OVERLAP_MIN) === OVERLAP_MIN;
  const shortest = isLong ? first(window, OVERLAP_MIN).length : Number.POSITIVE_INFINITY;
  for (let at = window.lastIndexOf(end); at + end.length >= shortest; at = window.lastIndexOf(end, at - 1)) {
    const length = at + end.length;
    if (previous.endsWith(window.slice(0, length))) return rest.length - begun.length + length;
  }
  if (!comments(rest)) return undefined;
  const among = first(rest, WINDOW);
  const tail = last(previous, WINDOW);
  const shortestTail = last(previous, OVERLAP_AFTER_COMMENT_MIN);
  // The repetition ends where the shortest one does, so its place is looked for first.
  if (charactersUpTo(tail, OVERLAP_AFTER_COMMENT_MIN) < OVERLAP_AFTER_COMMENT_MIN) return undefined;
  if (!among.includes(shortestTail)) return undefined;
  for (let start = 0; start <= tail.length - shortestTail.length; start += 1) {
    if (isSecondHalf(tail.charCodeAt(start))) continue;
    const found = among.indexOf(tail.slice(start));
    if (found >= 0) return found + tail.length - start;
  }
  return undefined;
}

/** Whether the continuation so far is a piece of the end of `previous`. */
function repeats(previous: string, rest: string): boolean {
  const begun = trimStart(rest);
  return first(begun, WINDOW) === begun && last(previous, WINDOW).includes(begun);
}

/** Whether the continuation begins with a comment on the interruption. */
function comments(rest: string): boolean {
  const begun = first(rest, COMMENT_WINDOW).toLowerCase();
  return COMMENTS.some((word) => begun.includes(word));
}

/** What two texts of prose need between them. */
function between(previous: string, rest: string): Seam {
  const before = last(previous, 1);
  const after = first(rest, 1);
  if (after === "" || isSpace(before) || isSpace(after)) return at(0);
  const kind = block(rest);
  if (kind !== undefined) {
    const line = previous.slice(previous.lastIndexOf("\n") + 1);
    const goesOn = kind !== "other" && block(trimStart(line)) === kind;
    return { dropped: 0, separator: goesOn ? "\n" : "\n\n" };
  }
  if (isWord(before) && isWord(after)) return betweenWords(previous, rest, before, after);
  return { dropped: 0, separator: isWord(after) && needsSpace(previous, before, after) ? " " : "" };
}

/** Whether a letter or digit behind a punctuation mark begins another word. `3.14`, `main.rs`, `1,000` and `std::fs` do not. */
function needsSpace(previous: string, before: string, after: string): boolean {
  if (isIdeographic(after)) return false;
  if (/[.!?]/.test(before)) return !/[\p{Lowercase}\p{N}]/u.test(after);
  if (!/[:;,]/.test(before)) return false;
  const [ahead] = last(previous, 2);
  if (ahead === undefined || [...last(previous, 2)].length < 2) return true;
  return ahead !== ":" && !(/\p{N}/u.test(after) && /\p{N}/u.test(ahead));
}

/** Returns the seam of a cut inside a word; the model may have repeated that word. */
function betweenWords(previous: string, rest: string, before: string, after: string): Seam {
  if (isIdeographic(before) || isIdeographic(after)) return at(0);
  const cutWord = lastWord(previous);
  const firstWord = /^[\p{Alphabetic}\p{N}]*/u.exec(rest)?.[0] ?? "";
  if ([...cutWord].length >= 2 && firstWord.length > cutWord.length && firstWord.startsWith(cutWord))
    return at(cutWord.length);
  const isNew = /\p{Uppercase}/u.test(after) && !/\p{Uppercase}/u.test(before) && !inIdentifier(previous);
  return { dropped: 0, separator: isNew ? " " : "" };
}

/** Returns whether `text` ends inside a URL, path or code identifier. */
function inIdentifier(text: string): boolean {
  const word =
    last(text, WINDOW)
      .split(/\p{White_Space}/u)
      .at(-1) ?? "";
  return /[./:@_=+`\\#&?%]/.test(word);
}

/** Read from the end: a pattern bound to the end would look at every word of a long answer. */
function lastWord(text: string): string {
  let start = text.length;
  while (start > 0) {
    const letter = last(text.slice(Math.max(0, start - 2), start), 1);
    if (!isWord(letter)) break;
    start -= letter.length;
  }
  return text.slice(start);
}

function isWord(letter: string): boolean {
  return /^[\p{Alphabetic}\p{N}]$/u.test(letter);
}

function isSpace(letter: string): boolean {
  return /^\p{White_Space}$/u.test(letter);
}

/** Whether a character is East Asian (Han, kana, Hangul): no space is added beside it. */
function isIdeographic(letter: string): boolean {
  return /^[\u{2e80}-\u{9fff}\u{ac00}-\u{d7af}\u{f900}-\u{faff}\u{20000}-\u{3ffff}]$/u.test(letter);
}

/** The kinds of Markdown block that begin with a marker. */
type Block = "list" | "quote" | "table" | "other";

/** The block that a line begins. */
function block(line: string): Block | undefined {
  if (/^(?:[-*+] |\d{1,9}\. )/.test(line)) return "list";
  if (line.startsWith("> ")) return "quote";
  if (line.startsWith("|")) return "table";
  return /^(?:#|```|~~~)/.test(line) ? "other" : undefined;
}

/**
 * What the first line of a continuation is to an open code block. `unfinished`: it may still become a fence. `named`: a
 * fence with a language opens the block again. `bare`: one without opens it again, or closes it.
 */
type Reopened = { kind: "none" | "unfinished" } | { kind: "named" | "bare"; end: number };

function reopened(text: string, block: Fence): Reopened {
  const blank = /^[\n\r]*/.exec(text)?.[0].length ?? 0;
  const newline = text.indexOf("\n", blank);
  if (newline < 0) return { kind: /^ *(?:$|[`~])/.test(text.slice(blank)) ? "unfinished" : "none" };
  const found = fence(text.slice(blank, newline));
  // Another fence is part of the code.
  if (found?.sign !== block.sign || found.count !== block.count) return { kind: "none" };
  return { kind: found.info === "" ? "bare" : "named", end: newline + 1 };
}

interface Fence {
  sign: string;
  count: number;
  /** What follows on the line. */
  info: string;
}

function fence(line: string): Fence | undefined {
  const [, signs, rest] = /^ {0,3}(`{3,}|~{3,})(.*)$/s.exec(line) ?? [];
  if (signs === undefined || rest === undefined) return undefined;
  const info = trim(rest);
  const sign = signs.charAt(0);
  return sign === "`" && info.includes("`") ? undefined : { sign, count: signs.length, info };
}

/** Returns the fence that is still open at the end of `text`, if any. */
function openBlock(text: string): Fence | undefined {
  let open: Fence | undefined;
  for (const [line] of text.matchAll(/(?<=^|\n) {0,3}(?:`{3}|~{3})[^\n]*/g)) {
    const found = fence(line);
    if (found === undefined) continue;
    if (open === undefined) open = found;
    else if (found.sign === open.sign && found.count >= open.count && found.info === "") open = undefined;
  }
  return open;
}

/** Counts characters, by Unicode scalars, and stops at `most`. */
function charactersUpTo(text: string, most: number): number {
  return [...first(text, most)].length;
}

/** The first so many characters, by Unicode scalars. */
function first(text: string, count: number): string {
  // No character takes more than two places.
  const near = text.slice(0, 2 * count);
  const letters = [...near];
  return letters.length <= count ? near : letters.slice(0, count).join("");
}

/** The last so many characters, by Unicode scalars. */
function last(text: string, count: number): string {
  let start = Math.max(0, text.length - 2 * count);
  if (start > 0 && isSecondHalf(text.charCodeAt(start))) start += 1;
  const letters = [...text.slice(start)];
  return letters.slice(Math.max(0, letters.length - count)).join("");
}

/** Whether a place in a text is the second half of a character. */
function isSecondHalf(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
