// Whether something is going on, and how a tab tells it: by its title and by its mark.

import { i18n } from "@lingui/core";

import type { Known } from "../live/store";

const PRODUCT = "Everturn";

/** What is going on: a person is waited for, the agent works, or neither. */
export type Going = "needs" | "live" | "still";

export function titleOf(name: string | undefined, going: Going): string {
  if (name === undefined) return PRODUCT;
  if (going === "needs") return `◆ ${i18n.t("Needs you")} — ${name}`;
  return going === "live" ? `${i18n.t("Writing")} — ${name}` : `${name} — ${PRODUCT}`;
}

/** In one session. What was told of it itself is newer than its line in the list. */
export function goingIn(
  { list, sessions, link }: Pick<Known, "list" | "sessions" | "link">,
  session: string,
): Going {
  const line = list?.find((line) => line.session === session);
  const run = sessions[session]?.state.open_run ?? (sessions[session] === undefined ? line?.run : null);
  // Out of touch, nobody knows whether a run still goes on.
  if (run != null) return link.kind === "away" ? "still" : "live";
  return line?.needs == null ? "still" : "needs";
}

/** In all of them. */
export function goingAnywhere({ list, link }: Pick<Known, "list" | "link">): Going {
  if (list?.some((line) => line.needs != null)) return "needs";
  return link.kind !== "away" && list?.some((line) => line.run != null) ? "live" : "still";
}

const RULE = "M8 2v9a5 5 0 0 0 10 0 5 5 0 0 0-10 0v11";
/** Each has its own shape; the colour only repeats it. */
const SIGNS: Record<Going, string> = {
  still: "",
  live: "<circle cx='18.5' cy='18.5' r='5' fill='#1F9D7E' stroke='#fff' stroke-width='1.5'/>",
  needs: "<path d='M18 12.5l5.5 5.5-5.5 5.5-5.5-5.5z' fill='#C07A00' stroke='#fff' stroke-width='1.5'/>",
};

/** The mark, with a sign while something is going on. */
export function markOf(going: Going): string {
  if (going === "still") return "/mark.svg";
  const mark = `<path d='${RULE}' stroke='#0A6552' stroke-width='2.75' stroke-linecap='round'/>`;
  const drawn = `<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 24 24' fill='none'>${mark}${SIGNS[going]}</svg>`;
  return `data:image/svg+xml,${encodeURIComponent(drawn)}`;
}
