// What the page knows of the list of sessions: the part that is looked at, and all of it from the top. Changes are gathered
// and told once a frame.

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import { ask, insist } from "../api/client";
import { onceAFrame } from "../live/frame";
import { apart } from "./apart";
import { Feed, type Source, type Standing } from "./feed";
import { beyond, happeningIn, together, type Happening } from "./happening";
import {
  EVERYTHING,
  queryOf,
  sameView,
  type Counts,
  type Line,
  type Page,
  type Project,
  type TagCount,
  type View,
} from "./types";
import { hearOwn } from "./unread";

/** As many lines as the server gives at once. */
const PAGE = 200;
/** Counts and tags are asked for no more often. */
const APART = 2_000;
/** What was just changed here is asked for sooner. */
const PAUSE = 200;

export interface Lists {
  view: View;
  pins: readonly Line[];
  /** All others of the view, as far as pages have come. */
  others: readonly Line[];
  standing: Standing;
  /** Whether pages are left to ask for. */
  more: boolean;
  counts: Counts | undefined;
  /** Active sessions with a run, and those that need a person: what the list shows, and what pages have not brought yet. */
  happening: Happening;
  projects: readonly Project[];
  tags: readonly TagCount[];
}

export const lists = createStore<Lists>(() => ({
  view: EVERYTHING,
  pins: [],
  others: [],
  standing: "asking",
  more: true,
  counts: undefined,
  happening: { live: 0, needs_you: 0 },
  projects: [],
  tags: [],
}));

export function useLists<T>(pick: (lists: Lists) => T): T {
  return useStore(lists, pick);
}

const source: Source = {
  page(view, before) {
    const query = queryOf(view);
    query.set("count", String(PAGE));
    if (before !== undefined) query.set("before", before);
    return insist("GET", `/sessions?${query}`);
  },
  async pins(view) {
    const query = queryOf(view);
    query.set("pinned", "true");
    query.set("count", String(PAGE));
    // A server that cannot look for pins tells them with their pages.
    const page = await ask<Page>("GET", `/sessions?${query}`).catch(() => undefined);
    return page?.sessions ?? [];
  },
};

/** Sessions that left the view by something that was done here, and say so in their place. */
const held = new Set<string>();
const soon = onceAFrame(tell);
const everything = new Feed(EVERYTHING, source, held, soon);
let looked = everything;
/** Hears all active sessions known, after they changed. */
let publish: (all: Line[]) => void = () => undefined;
/** Whether the feed of changes was begun. */
let begun = false;

function feeds(): Feed[] {
  return looked === everything ? [everything] : [everything, looked];
}

/** A line as it is now, and as it was known before. */
type Heard = (before: Line | undefined, line: Line) => void;
const hearers = new Set<Heard>();

/** Tells of every change of a line, one by one. Answers how to hear no more. */
export function onLine(hear: Heard): () => void {
  hearers.add(hear);
  return () => hearers.delete(hear);
}

function hearLine(line: Line): void {
  const before = lineOf(line.session);
  for (const hear of hearers) hear(before, line);
}

/** What the server counted beyond the lines that pages have brought. */
let unlisted: Happening = { live: 0, needs_you: 0 };
/** The pages that `unlisted` was reckoned with. */
let loads = 0;

function tell(): void {
  const { pins, others } = looked.shown();
  lists.setState({ pins, others, standing: looked.state, more: looked.more });
  if (!begun) return;
  const all = looked === everything ? { pins, others } : everything.shown();
  const lines = [...all.pins, ...all.others];
  const { counts } = lists.getState();
  if (counts !== undefined && everything.loads !== loads) {
    // Sessions of a new page were counted already, as sessions beyond the list.
    unlisted = beyond(counts, happeningIn(lines), everything.more);
    loads = everything.loads;
  }
  lists.setState({ happening: together(happeningIn(lines), unlisted) });
  publish(lines);
}

function counted(counts: Counts): Partial<Lists> {
  const { pins, others } = everything.shown();
  const listed = happeningIn([...pins, ...others]);
  unlisted = beyond(counts, listed, everything.more);
  loads = everything.loads;
  return { counts, happening: together(listed, unlisted) };
}

/** Who else wants to know of the list. */
export function onList(hear: (all: Line[]) => void): void {
  publish = hear;
}

/** The first page came with the feed: from here on every change is told. */
export function listed(page: Page): void {
  begun = true;
  page.sessions.forEach(hearLine);
  void everything.open(page);
  if (looked !== everything) void looked.open();
  recount();
  readProjects();
  readTags();
}

export function lineTold(line: Line): void {
  hearLine(line);
  const before = lineOf(line.session);
  for (const feed of feeds()) feed.line(line);
  hearOwn(line);
  recount();
  if (before?.tags.join("\n") !== line.tags.join("\n") && (before !== undefined || line.tags.length > 0))
    readTags();
  const { projects } = lists.getState();
  if (line.project != null && !projects.some(({ project }) => project === line.project)) readProjects();
}

export function sessionGone(session: string): void {
  for (const feed of feeds()) feed.gone(session);
  recount();
}

/** A session as the list knows it. */
export function lineOf(session: string): Line | undefined {
  return looked.get(session) ?? everything.get(session);
}

/** Shows another part of the list. */
export function look(view: View): void {
  if (sameView(view, looked.view)) return;
  letGo();
  looked = sameView(view, EVERYTHING) ? everything : new Feed(view, source, held, soon);
  lists.setState({ view, ...looked.shown(), standing: looked.state, more: looked.more });
  if (looked !== everything) void looked.open();
}

/** Asks for the next page of what is looked at. */
export function goOn(): void {
  void looked.ask();
}

/** Lets a session keep its place, whatever becomes of it. */
export function hold(session: string): void {
  held.add(session);
}

export function release(session: string): void {
  if (!held.delete(session)) return;
  for (const feed of feeds()) feed.release(session);
}

function letGo(): void {
  for (const session of held) release(session);
}

/** Asks for something and keeps what is told; where nothing is, the next change asks again. */
async function keep<T>(path: string, known: (told: T) => Partial<Lists>): Promise<void> {
  const told = await ask<T>("GET", path).catch(() => undefined);
  if (told !== undefined) lists.setState(known(told));
}

const recount = apart(APART, () => void keep("/sessions/counts", counted));
export const readProjects = apart(
  PAUSE,
  () => void keep("/projects", ({ projects }: Pick<Lists, "projects">) => ({ projects })),
);
const readTags = apart(APART, () => void keep("/tags", ({ tags }: Pick<Lists, "tags">) => ({ tags })));
