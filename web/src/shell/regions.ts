// F6 goes round the parts of the page: sessions, conversation, composer.

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

const COMMANDS: readonly Command[] = [
  {
    id: "region.next",
    group: "anywhere",
    title: () => i18n.t("Next part of the page"),
    keys: "F6",
    onlyKeys: true,
    run: () => go(1),
  },
  {
    id: "region.previous",
    group: "anywhere",
    title: () => i18n.t("Previous part of the page"),
    keys: "Shift+F6",
    onlyKeys: true,
    run: () => go(-1),
  },
];

export function useRegions(): void {
  useCommands(COMMANDS);
}
