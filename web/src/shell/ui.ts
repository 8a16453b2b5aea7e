// What is open on the page and belongs to no session: nothing of it needs to survive a reload.

import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";

import type { Unsent } from "../live/signout";
import type { Known } from "../live/store";
import type { Attachment } from "../log/types";

export interface Notice {
  text: string;
  /** The server refused, or gave no answer; the latter is over when it is back. */
  kind: "refused" | "unreachable";
  /** Returns whether its cause is gone; without it, the notice stays until it is closed or a later request succeeds. */
  isOver?: (known: Known) => boolean;
}

export interface Ui {
  /** The turn whose message is being edited. */
  editing: { session: string; turn: number } | undefined;
  /** The turn that is to be brought into sight. */
  reveal: { session: string; turn: number } | undefined;
  /** Why the last request failed. */
  notice: Notice | undefined;
  /** A message to put back into the composer of its session. */
  returned: { session: string; text: string; attachments: readonly Attachment[] } | undefined;
  /** Whether to ask if the person wants to be told of answers. */
  offers: boolean;
  /** The data that signing out would lose, while the dialog is open. */
  leaving: Unsent | undefined;
  /** What lies over the page. */
  over: "palette" | "shortcuts" | undefined;
}

export const ui = createStore<Ui>(() => ({
  editing: undefined,
  reveal: undefined,
  notice: undefined,
  returned: undefined,
  offers: false,
  leaving: undefined,
  over: undefined,
}));

export function useUi<T>(pick: (ui: Ui) => T): T {
  return useStore(ui, pick);
}
