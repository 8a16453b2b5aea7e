// Keyboard navigation of the conversation, and keys for the buttons of a turn. Single letters work only while a turn or the
// conversation has the focus.

import { i18n } from "@lingui/core";

import { useCommands, type Command } from "../commands/registry";

const AREA = ".area > .thread";

function hasFocus(): boolean {
  return document.activeElement?.closest(AREA) != null;
}

/** Returns the focused turn. */
function turnInFocus(): HTMLElement | null {
  return document.activeElement?.closest<HTMLElement>("article[data-turn]") ?? null;
}

function step(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>("article[data-turn]")];
  const from = turnInFocus();
  const at = from === null ? (by > 0 ? -1 : all.length) : all.indexOf(from);
  const next = all[at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

function openSteps(): void {
  turnInFocus()?.querySelector<HTMLElement>(".trace .row")?.click();
}

/** Clicks the button of the focused turn for a key. */
function act(key: string): void {
  turnInFocus()?.querySelector<HTMLButtonElement>(`[data-act="${key.toUpperCase()}"]`)?.click();
}

function command(key: string, title: () => string, run: () => void, when = hasFocus): Command {
  return { id: `turn:${key}`, group: "turn", title, keys: key, when, run, onlyKeys: true };
}

function button(key: string, title: () => string): Command {
  return command(
    key,
    title,
    () => act(key),
    () => hasFocus() && turnInFocus() !== null,
  );
}

const COMMANDS: readonly Command[] = [
  command(
    "j",
    () => i18n.t("Next turn"),
    () => step(1),
  ),
  command(
    "k",
    () => i18n.t("Previous turn"),
    () => step(-1),
  ),
  // The conversation handles these keys itself.
  {
    ...command(
      "Home",
      () => i18n.t("First turn"),
      () => undefined,
    ),
    local: true,
  },
  {
    ...command(
      "End",
      () => i18n.t("Latest text"),
      () => undefined,
    ),
    local: true,
  },
  command("o", () => i18n.t("Show steps"), openSteps),
  button("y", () => i18n.t("Copy answer")),
  button("r", () => i18n.t("Retry")),
  button("e", () => i18n.t("Edit message")),
  button("b", () => i18n.t("Branch from here")),
  button("[", () => i18n.t("Previous answer")),
  button("]", () => i18n.t("Next answer")),
];

export function useTurnKeys(): void {
  useCommands(COMMANDS);
}
