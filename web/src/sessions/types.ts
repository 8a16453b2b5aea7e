// What the list of sessions is made of, and which part of it a person looks at.

import type { Schemas } from "../api/client";

export type Line = Schemas["Line"];
export type Shelf = "active" | "archived" | "trash";

/** Which sessions are listed. */
export interface View {
  shelf: Shelf;
  /** Only those in which something happens, or which wait for a person. */
  state?: "live" | "needs_you";
  project?: string;
  tag?: string;
}

export const EVERYTHING: View = { shelf: "active" };

export type Page = Schemas["ListBody"];

export type Counts = Schemas["CountsBody"];

export type Project = Schemas["ProjectBody"];

/** A tag, and how many sessions have it. */
export type TagCount = Schemas["TagBody"];

export function shelfOf(line: Line): Shelf {
  if (line.trashed) return "trash";
  return line.archived ? "archived" : "active";
}

export function isIn(view: View, line: Line): boolean {
  if (shelfOf(line) !== view.shelf) return false;
  if (view.state === "live" && line.run == null) return false;
  if (view.state === "needs_you" && line.needs == null) return false;
  if (view.project !== undefined && line.project !== view.project) return false;
  return view.tag === undefined || line.tags.includes(view.tag);
}

export function sameView(one: View, other: View): boolean {
  return queryOf(one).toString() === queryOf(other).toString();
}

/** The view as the server is asked for it. */
export function queryOf({ shelf, state, project, tag }: View): URLSearchParams {
  const query = new URLSearchParams({ shelf });
  if (state !== undefined) query.set("state", state);
  if (project !== undefined) query.set("project", project);
  if (tag !== undefined) query.set("tag", tag);
  return query;
}
