import { navigate } from "wouter/use-browser-location";

import { sessionIn } from "../commands/places";
import { isBlank } from "../live/fresh";
import { startSession, store } from "../live/store";
import { lists } from "./lists";

/**
 * Opens a new session, in the project that is looked at. Nothing is asked of the server before the first message is sent.
 * In a new session that is still blank there is nothing to do but to write.
 */
export function newSession({ replace = false } = {}): void {
  const here = sessionIn(location.pathname);
  const { fresh, outbox } = store.getState();
  const unsent = outbox.some(({ session }) => session === here);
  const isNew = here !== undefined && fresh[here] !== undefined && !unsent;
  if (isNew && isBlank(here)) {
    document.querySelector<HTMLTextAreaElement>(".dock textarea")?.focus();
    return;
  }
  const { project } = lists.getState().view;
  const session = startSession({
    ...(here === undefined || isNew ? {} : { after: here }),
    ...(project === undefined ? {} : { project }),
  });
  navigate(`/s/${session}`, { replace });
}
