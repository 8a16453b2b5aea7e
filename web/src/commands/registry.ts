// The available commands. Each part of the page registers its commands while it is shown. The palette, the keyboard and
// the list of shortcuts all read this registry, so they always agree.

import { useEffect, useLayoutEffect, useRef } from "react";

import { isOn } from "../shell/remembered";
import { isField, isPlain, matches } from "./keys";

/** Groups of commands, in the order of the palette and of the list of shortcuts. */
export type Group = "session" | "anywhere" | "go" | "turn" | "composer" | "list";

export interface Command {
  /** The unique id. Of two commands with the same id, the later one wins. */
  id: string;
  group: Group;
  /** In the language of the page. */
  title: () => string;
  /** `Mod+Shift+o`; the first is the one that is shown. */
  keys?: string | readonly string[];
  /** Whether it can be done now; always if left out. */
  when?: () => boolean;
  run: () => void;
  /** Acts on the focused element, so it is available only by its keys. */
  onlyKeys?: true;
  /** The owning part of the page handles the keys itself. */
  local?: true;
}

type Part = { readonly current: readonly Command[] };
const parts = new Set<Part>();

/** Registers commands while the component is mounted. They may change on every render. */
export function useCommands(commands: readonly Command[]): void {
  const part = useRef(commands);
  useLayoutEffect(() => {
    part.current = commands;
  });
  useEffect(() => add(part), []);
}

/** Registers commands until the returned function is called. */
export function add(part: Part): () => void {
  parts.add(part);
  return () => void parts.delete(part);
}

/** Returns all registered commands, including unavailable ones. */
export function allCommands(): Command[] {
  const all = [...parts].flatMap((part) => part.current);
  return [...new Map(all.map((command) => [command.id, command])).values()];
}

export function can(command: Command): boolean {
  return command.when?.() ?? true;
}

export function keysOf({ keys }: Command): readonly string[] {
  return keys === undefined ? [] : typeof keys === "string" ? [keys] : keys;
}

/** Returns the command that a key press runs. */
function commandFor(event: KeyboardEvent): Command | undefined {
  const isWanted = (keys: string) =>
    matches(keys, event) && !(isPlain(keys) && (isField(event.target) || !isOn("letters")));
  return allCommands().find(
    (command) => command.local !== true && keysOf(command).some(isWanted) && can(command),
  );
}

/** Runs commands by keyboard. Dialogs and menus over the page keep their keys. */
export function useKeyboard(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.isComposing || event.defaultPrevented) return;
      if (document.querySelector("dialog:modal") !== null) return;
      const command = commandFor(event);
      if (command === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      command.run();
    };
    window.addEventListener("keydown", press, { capture: true });
    return () => window.removeEventListener("keydown", press, { capture: true });
  }, []);
}
