// The settled part of a list or table that still grows. Only the children behind it are lexed again, prefixed
// with `lead`, so that they are read as children of the same list or table.

import type { Token, Tokens } from "marked";

export interface Head {
  /** The offset of the list or table. */
  at: number;
  token: Tokens.List | Tokens.Table;
  /** The number of settled children. */
  count: number;
  /** The offset of the first open child. */
  end: number;
  lead: string;
}

/** Returns the children of a block that settle one by one. */
export function childrenOf(token: Token): readonly unknown[] {
  if (token.type === "list") return (token as Tokens.List).items;
  return token.type === "table" ? (token as Tokens.Table).rows : [];
}

/** Returns a head with `count` settled children of the list or table at an offset. */
export function headOf(text: string, at: number, token: Token, count: number): Head {
  if (token.type === "list") return listHead(at, token as Tokens.List, count);
  return tableHead(text, at, token as Tokens.Table, count);
}

function listHead(at: number, token: Tokens.List, count: number): Head {
  const settled = token.items.slice(0, count);
  const end = settled.reduce((end, { raw }) => end + raw.length, at);
  // An item followed by an empty line makes the list loose. The lead has the deepest indent of an item, because
  // a deeper item after it would be nested in it.
  const bullet = /^ *([*+-]|\d+[.)])/.exec(token.raw)?.[1];
  return { at, token, count, end, lead: settled.some(loosens) ? `   ${bullet} x\n\n` : "" };
}

/** Returns whether an item makes its list loose if others follow. */
function loosens({ raw, tokens }: Tokens.ListItem): boolean {
  if (/\n[ \t]*\n[ \t]*$/.test(raw)) return true;
  return tokens.some((token) => token.type === "space" && /\n.*\n/.test(token.raw));
}

function tableHead(text: string, at: number, token: Tokens.Table, count: number): Head {
  const rows = lineAfter(text, at, 2);
  const end = lineAfter(text, rows, count);
  // Includes a row, because marked counts a blank line as a row only if another row precedes it.
  return { at, token, count, end, lead: `${text.slice(at, rows)}|x|\n` };
}

function lineAfter(text: string, at: number, lines: number): number {
  let place = at;
  for (let line = 0; line < lines; line += 1) place = text.indexOf("\n", place) + 1;
  return place;
}

/**
 * Returns the whole list or table, given the token lexed from the lead on. Undefined if it must be lexed from its start.
 */
export function joined(text: string, head: Head, tail: Token | undefined): Token | undefined {
  if (tail === undefined || tail.type !== head.token.type) return undefined;
  const raw = text.slice(head.at, head.end) + tail.raw.slice(head.lead.length);
  if (head.token.type === "list") return joinedList(head, head.token, tail as Tokens.List, raw);
  const { rows } = tail as Tokens.Table;
  return { ...head.token, raw, rows: [...head.token.rows.slice(0, head.count), ...rows.slice(1)] };
}

function joinedList({ count, lead }: Head, head: Tokens.List, tail: Tokens.List, raw: string) {
  // A list that becomes loose changes all of its items.
  if (tail.loose !== head.loose) return undefined;
  const open = lead === "" ? tail.items : tail.items.slice(1);
  return { ...head, raw, items: [...head.items.slice(0, count), ...open] };
}
