// Which question or menu is open over the list; one at a time.

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import type { Project } from "./types";

export type Question =
  | { kind: "rename"; session: string }
  | { kind: "move"; sessions: readonly string[] }
  | { kind: "tags"; sessions: readonly string[] }
  | { kind: "share"; session: string }
  | { kind: "clear"; session: string }
  | { kind: "erase"; sessions: readonly string[] }
  | { kind: "empty_trash" }
  /** None makes a new one. */
  | { kind: "project"; project?: Project }
  | { kind: "remove_project"; project: Project };

/** A menu, and the place on the screen that it belongs to. */
export interface Menu {
  of: { session: string } | { project: Project };
  x: number;
  y: number;
}

interface Asked {
  question: Question | undefined;
  menu: Menu | undefined;
}

const asked = createStore<Asked>(() => ({ question: undefined, menu: undefined }));

export function ask(question: Question): void {
  asked.setState({ question, menu: undefined });
}

export function answered(): void {
  asked.setState({ question: undefined });
}

export function openMenu(menu: Menu): void {
  asked.setState({ menu });
}

export function closeMenu(): void {
  asked.setState({ menu: undefined });
}

export function useAsked<T>(pick: (asked: Asked) => T): T {
  return useStore(asked, pick);
}
