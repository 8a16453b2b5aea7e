// The user's preferences on all devices. The page changes once the server has saved them.

import { ask } from "../api/client";
import { store, type Preferences } from "../live/store";

export async function prefer(change: Partial<Preferences>): Promise<void> {
  // Until they are loaded, the saved preferences may differ from the defaults.
  const before = store.getState().preferences ?? (await ask<Preferences>("GET", "/me/preferences"));
  const preferences = { ...before, ...change };
  await ask("PUT", "/me/preferences", { body: preferences });
  store.setState({ preferences });
}
