import { i18n } from "@lingui/core";

import { announce } from "./announce";

/** Takes a text along, and says so for who cannot see it. */
export async function copy(text: string): Promise<void> {
  await navigator.clipboard.writeText(text);
  announce(i18n.t("Copied."));
}
