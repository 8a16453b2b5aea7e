import { i18n } from "@lingui/core";

import { proseOf } from "./prose";
import type { TurnView } from "./types";

/** Returns messages and answers of some turns as plain text. */
export function transcript(turns: readonly TurnView[]): string {
  const [you, agent] = [i18n.t("You"), i18n.t("Agent")];
  return turns.map((turn) => `${you}:\n${turn.message.text}\n\n${agent}:\n${proseOf(turn)}\n`).join("\n");
}
