// Keys of the composer. The field handles them itself; this list is for the shortcuts page.

import { i18n } from "@lingui/core";

import type { Command } from "../commands/registry";
import type { Mode } from "../live/outbox";

interface Writing {
  /** The action of Enter while the agent is working. */
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
    // The field inserts the line break itself.
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
    key("ArrowUp", () => i18n.t("Edit last message"), editLast, isEmpty),
    key("Mod+u", () => i18n.t("Attach a file"), attach),
  ];
}
