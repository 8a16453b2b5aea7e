// What a person prefers, on every device. What is shown changes when the server has kept it.

import { ask } from "../api/client";
import { store, type Preferences } from "../live/store";

const FIRST: Preferences = { busy: "queue", language: null, notify: false, first_run_done: false };

export async function prefer(change: Partial<Preferences>): Promise<void> {
  const preferences = { ...(store.getState().preferences ?? FIRST), ...change };
  await ask("PUT", "/me/preferences", { body: preferences });
  store.setState({ preferences });
}
