// Tags of several sessions at once: each keeps its own, but for what is changed.

/** Whether all, some or none of them have a tag. */
export type Spread = "all" | "some" | "none";

/** What is on any of them, in order. */
export function tagsOf(sessions: readonly (readonly string[])[]): Map<string, Spread> {
  const all = [...new Set(sessions.flat())].sort((one, other) => one.localeCompare(other));
  const has = (tag: string) => sessions.filter((tags) => tags.includes(tag)).length;
  return new Map(all.map((tag) => [tag, has(tag) === sessions.length ? "all" : "some"]));
}

/** The tags of one of them afterwards: what some had is left as it is. */
export function tagsAfter(tags: readonly string[], wanted: ReadonlyMap<string, Spread>): string[] {
  const kept = tags.filter((tag) => wanted.get(tag) !== "none");
  const added = [...wanted].flatMap(([tag, spread]) =>
    spread === "all" && !tags.includes(tag) ? [tag] : [],
  );
  return [...kept, ...added];
}

/** What is written as one or several tags: kept lower-case, as the server does. */
export function written(text: string): string[] {
  return text
    .split(",")
    .map((tag) => tag.trim().toLowerCase())
    .filter((tag) => tag !== "");
}
