// What keys do while a message is written. The field hears them itself; the sheet of shortcuts tells of them.

import { i18n } from "@lingui/core";

import type { Command } from "../commands/registry";
import type { Mode } from "../live/outbox";

interface Writing {
  /** What Enter does while the agent works. */
  mode: Mode;
  send: (how: Mode) => void;
  attach: () => void;
  editLast: () => void;
  isEmpty: () => boolean;
}

export function commandsOf({ mode, send, attach, editLast, isEmpty }: Writing): Command[] {
  const key = (keys: string, title: () => string, run: () => void, when = () => true): Command => ({
    id: `composer:${keys}`,
    group: "composer",
    title,
    keys,
    when,
    run,
    onlyKeys: true,
    local: true,
  });
  return [
    key(
      "Enter",
      () => i18n.t("Send"),
      () => send(mode),
    ),
    // The field begins the line itself.
    key(
      "Shift+Enter",
      () => i18n.t("New line"),
      () => undefined,
      () => false,
    ),
    key(
      "Alt+Enter",
      () => i18n.t("Send and steer the agent"),
      () => send("steer"),
    ),
    key(
      "Mod+Enter",
      () => i18n.t("Interrupt the agent and send"),
      () => send("interrupt"),
    ),
    key("ArrowUp", () => i18n.t("Edit the last message"), editLast, isEmpty),
    key("Mod+u", () => i18n.t("Attach a file"), attach),
  ];
}
