import { i18n } from "@lingui/core";

import type { Group } from "./registry";

/** Returns the heading of a group of commands. */
export function titleOf(group: Group): string {
  switch (group) {
    case "session":
      return i18n.t("This session");
    case "anywhere":
      return i18n.t("Anywhere");
    case "go":
      return i18n.t("Go to");
    case "turn":
      return i18n.t("In the conversation");
    case "composer":
      return i18n.t("While writing");
    case "list":
      return i18n.t("In the list");
  }
}
