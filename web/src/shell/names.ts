// The name of a session that may not be loaded yet.

import { i18n } from "@lingui/core";

import type { Known } from "../live/store";
import { titleText } from "../log/title";

type From = Pick<Known, "fresh" | "list" | "link" | "sessions" | "unknown">;

/**
 * Returns the name of a session; none for one that the server does not have or does not show. Only a session that is known
 * to have no title yet is new: one that is not loaded may have any title.
 */
export function sessionName(known: From, session: string): string | undefined {
  const { fresh, list, link, sessions, unknown } = known;
  if (unknown[session] !== undefined) return undefined;
  const state = sessions[session]?.state;
  const title = titleText(state?.title);
  if (title !== null) return title;
  const line = list?.find((line) => line.session === session);
  if (line?.title != null) return line.title;
  if (state !== undefined || line !== undefined || fresh[session] !== undefined) return i18n.t("New session");
  return link.kind === "away" ? i18n.t("Session not loaded") : i18n.t("Opening…");
}
