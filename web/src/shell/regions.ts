// F6 cycles through the regions of the page: sessions, conversation, composer.

import { i18n } from "@lingui/core";

import { useCommands, type Command } from "../commands/registry";

const PARTS = [".side input", ".area > .thread", ".dock textarea"];

function go(by: number): void {
  const parts = PARTS.flatMap((part) => document.querySelector<HTMLElement>(part) ?? []);
  const at = parts.findIndex((part) => {
    const around = part.closest("nav, .area, .dock") ?? part;
    return around.contains(document.activeElement);
  });
  const next = (at + by + parts.length) % parts.length;
  parts[at < 0 ? 0 : next]?.focus();
}

/**
 * Moves the focus from a button that is about to disappear to the composer. A focused turn keeps the focus. On a touch
 * screen the conversation gets it, because the composer would open the keyboard.
 */
export function toComposer(): void {
  if (document.activeElement?.matches("article") === true) return;
  const place = matchMedia("(hover: hover)").matches ? ".dock textarea" : ".area > .thread";
  document.querySelector<HTMLElement>(place)?.focus({ preventScroll: true });
}

const COMMANDS: readonly Command[] = [
  {
    id: "region.next",
    group: "anywhere",
    title: () => i18n.t("Next region of the page"),
    keys: "F6",
    onlyKeys: true,
    run: () => go(1),
  },
  {
    id: "region.previous",
    group: "anywhere",
    title: () => i18n.t("Previous region of the page"),
    keys: "Shift+F6",
    onlyKeys: true,
    run: () => go(-1),
  },
];

export function useRegions(): void {
  useCommands(COMMANDS);
}
