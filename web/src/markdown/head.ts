// The settled beginning of a list or a table that still grows. Only the children behind it are lexed again; `lead` stands
// before them, so that they are read as children of the same list or table.

import type { Token, Tokens } from "marked";

export interface Head {
  /** Where the list or the table begins in the text. */
  at: number;
  token: Tokens.List | Tokens.Table;
  /** How many of its children are settled. */
  count: number;
  /** Where the first child that is not settled begins. */
  end: number;
  lead: string;
}

/** The children of a block that settle one by one. */
export function childrenOf(token: Token): readonly unknown[] {
  if (token.type === "list") return (token as Tokens.List).items;
  return token.type === "table" ? (token as Tokens.Table).rows : [];
}

/** The head with this many children of the list or table at a place in the text. */
export function headOf(text: string, at: number, token: Token, count: number): Head {
  if (token.type === "list") return listHead(at, token as Tokens.List, count);
  return tableHead(text, at, token as Tokens.Table, count);
}

function listHead(at: number, token: Tokens.List, count: number): Head {
  const settled = token.items.slice(0, count);
  const end = settled.reduce((end, { raw }) => end + raw.length, at);
  // An item with an empty line behind it makes the items after it those of a loose list. It is indented as far as an item
  // can be, because an item that is indented further than the one before would be nested in it.
  const bullet = /^ *([*+-]|\d+[.)])/.exec(token.raw)?.[1];
  return { at, token, count, end, lead: settled.some(loosens) ? `   ${bullet} x\n\n` : "" };
}

/** Whether an item that others follow makes its list loose. */
function loosens({ raw, tokens }: Tokens.ListItem): boolean {
  if (/\n[ \t]*\n[ \t]*$/.test(raw)) return true;
  return tokens.some((token) => token.type === "space" && /\n.*\n/.test(token.raw));
}

function tableHead(text: string, at: number, token: Tokens.Table, count: number): Head {
  const rows = lineAfter(text, at, 2);
  const end = lineAfter(text, rows, count);
  // With a row, so that an empty line behind it is a row too.
  return { at, token, count, end, lead: `${text.slice(at, rows)}|x|\n` };
}

function lineAfter(text: string, at: number, lines: number): number {
  let place = at;
  for (let line = 0; line < lines; line += 1) place = text.indexOf("\n", place) + 1;
  return place;
}

/** The whole list or table, given what was lexed behind the lead; nothing if it has to be lexed from its beginning. */
export function joined(text: string, head: Head, tail: Token | undefined): Token | undefined {
  if (tail === undefined || tail.type !== head.token.type) return undefined;
  const raw = text.slice(head.at, head.end) + tail.raw.slice(head.lead.length);
  if (head.token.type === "list") return joinedList(head, head.token, tail as Tokens.List, raw);
  const { rows } = tail as Tokens.Table;
  return { ...head.token, raw, rows: [...head.token.rows.slice(0, head.count), ...rows.slice(1)] };
}

function joinedList({ count, lead }: Head, head: Tokens.List, tail: Tokens.List, raw: string) {
  // All items of a loose list are lexed as such.
  if (tail.loose !== head.loose) return undefined;
  const open = lead === "" ? tail.items : tail.items.slice(1);
  return { ...head, raw, items: [...head.items.slice(0, count), ...open] };
}
