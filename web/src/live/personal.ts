// Data of the user rather than of a session: preferences, device name and models. The page works without it
// until it arrives.

import { insist } from "../api/client";
import { language, setLanguage } from "../words/language";
import { store, type Model, type Preferences } from "./store";

export function readPersonal(): void {
  const personal = async () => {
    const preferences = await insist<Preferences>("GET", "/me/preferences");
    store.setState({ preferences });
    if (preferences.language !== null && preferences.language !== language())
      setLanguage(preferences.language === "de" ? "de" : "en");
  };
  const device = async () => {
    const { logins } = await insist<{ logins: { name: string; this: boolean }[] }>("GET", "/logins");
    store.setState({ device: logins.find((login) => login.this)?.name });
  };
  for (const fetched of [personal(), device(), readModels()]) fetched.catch(() => undefined);
}

/** Reloads the models after a change. */
export async function readModels(): Promise<void> {
  const { models } = await insist<{ models: Model[] }>("GET", "/models");
  store.setState({ models });
}
