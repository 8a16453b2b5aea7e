// The scratch session. Only sessions with its tag can be broken, and never the server.

import { i18n } from "@lingui/core";

import { ask } from "../api/client";
import { sessionId } from "../live/fresh";
import { outbox } from "../live/store";

export const SCRATCH = "scratch";

/** Creates the session and requests a long answer. */
export async function beginToBreakIt(): Promise<string> {
  const body = { id: sessionId(), title: i18n.t("Try to break it") };
  const { session } = await ask<{ session: string }>("POST", "/sessions", { body });
  await ask("PATCH", `/sessions/${session}`, { body: { tags: [SCRATCH] } });
  askForStory(session);
  return session;
}

export function askForStory(session: string): void {
  const text = i18n.t(
    "Tell me a long story about a lighthouse keeper who writes down every ship. At least two thousand words.",
  );
  outbox.send({ session, text, attachments: [], mode: "queue" });
}
