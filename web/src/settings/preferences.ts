// What a person prefers, on every device. What is shown changes when the server has kept it.

import { ask } from "../api/client";
import { store, type Preferences } from "../live/store";

export async function prefer(change: Partial<Preferences>): Promise<void> {
  // What a page has not read yet is not what everybody begins with.
  const before = store.getState().preferences ?? (await ask<Preferences>("GET", "/me/preferences"));
  const preferences = { ...before, ...change };
  await ask("PUT", "/me/preferences", { body: preferences });
  store.setState({ preferences });
}
