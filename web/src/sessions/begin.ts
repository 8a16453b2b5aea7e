import { i18n } from "@lingui/core";
import { navigate } from "wouter/use-browser-location";

import { ask } from "../api/client";
import { sessionIn } from "../commands/places";
import { attempt } from "../shell/attempt";
import { change } from "./acts";
import { lists } from "./lists";

/** Makes a session and goes there. Who looks at a project means it to stand there. */
export function newSession(): void {
  void attempt(i18n.t("made"), make(lists.getState().view.project));
}

async function make(project: string | undefined): Promise<void> {
  const after = sessionIn(location.pathname);
  const body = { id: crypto.randomUUID(), ...(after === undefined ? {} : { after }) };
  const { session } = await ask<{ session: string }>("POST", "/sessions", { body });
  navigate(`/s/${session}`);
  if (project !== undefined) await change(session, { project });
}
