// Everything that can be done now. Each part of the page adds what it can do for as long as it is shown; the palette, the
// keyboard and the sheet of shortcuts all read from here, so that none of them tells what is not so.

import { useEffect, useLayoutEffect, useRef } from "react";

import { isOn } from "../shell/remembered";
import { isField, isPlain, matches } from "./keys";

/** What a command is about, in the order in which the palette and the sheet show it. */
export type Group = "session" | "anywhere" | "go" | "turn" | "composer" | "list";

export interface Command {
  /** Its name among all; of two with the same the later counts. */
  id: string;
  group: Group;
  /** In the language of the page. */
  title: () => string;
  /** `Mod+Shift+o`; the first is the one that is shown. */
  keys?: string | readonly string[];
  /** Whether it can be done now; always if left out. */
  when?: () => boolean;
  run: () => void;
  /** Acts on what has the focus: only by its keys. */
  onlyKeys?: true;
  /** Its part of the page hears the keys itself. */
  local?: true;
}

type Part = { readonly current: readonly Command[] };
const parts = new Set<Part>();

/** Adds commands for as long as they are shown. They may be new with every drawing. */
export function useCommands(commands: readonly Command[]): void {
  const part = useRef(commands);
  useLayoutEffect(() => {
    part.current = commands;
  });
  useEffect(() => add(part), []);
}

/** Adds commands until they are taken away. */
export function add(part: Part): () => void {
  parts.add(part);
  return () => void parts.delete(part);
}

/** Every command that is there, also one that cannot be done at the moment. */
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

/** What keys do now, in the whole page. */
function commandFor(event: KeyboardEvent): Command | undefined {
  const isWanted = (keys: string) =>
    matches(keys, event) && !(isPlain(keys) && (isField(event.target) || !isOn("letters")));
  return allCommands().find(
    (command) => command.local !== true && keysOf(command).some(isWanted) && can(command),
  );
}

/** Lets the keyboard give commands. What is over the page keeps its keys for itself. */
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
