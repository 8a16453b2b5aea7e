// Keys of the list, for the shortcuts page. The list handles them itself while it has the focus.

import { i18n } from "@lingui/core";

import type { Command } from "../commands/registry";

function local(keys: string, title: () => string): Command {
  return {
    id: `list:${keys}`,
    group: "list",
    title,
    keys,
    run: () => undefined,
    onlyKeys: true,
    local: true,
  };
}

export const IN_THE_LIST: readonly Command[] = [
  local("ArrowDown", () => i18n.t("Next session in the list")),
  local("ArrowUp", () => i18n.t("Previous session in the list")),
  local("Enter", () => i18n.t("Open")),
  local("p", () => i18n.t("Pin or unpin")),
  local("x", () => i18n.t("Archive or restore")),
  local("m", () => i18n.t("Move to project")),
  local("Delete", () => i18n.t("Move to trash")),
  local("Space", () => i18n.t("Select")),
  local("Shift+F10", () => i18n.t("Session menu")),
];
