// The conversation by keyboard: turn by turn, and with each what its buttons do. Single letters count only while a turn or
// the conversation has the focus.

import { useEffect } from "react";

const AREA = ".area > .thread";

function turns(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("article[data-turn]")];
}

function step(from: HTMLElement | null, by: number): void {
  const all = turns();
  const at = from === null ? (by > 0 ? -1 : all.length) : all.indexOf(from);
  const next = all[at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

/** What a key does to the turn that has the focus. */
function act(turn: HTMLElement | null, key: string): boolean {
  if (key === "j" || key === "k") {
    step(turn, key === "j" ? 1 : -1);
    return true;
  }
  if (turn === null) return false;
  if (key === "o") {
    turn.querySelector<HTMLElement>(".trace .row")?.click();
    return true;
  }
  const button = turn.querySelector<HTMLButtonElement>(`[data-act="${key.toUpperCase()}"]`);
  button?.click();
  return button !== null;
}

export function useTurnKeys(takeBack: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const control = event.ctrlKey || event.metaKey;
      if (control && event.altKey && event.key.toLowerCase() === "z") {
        event.preventDefault();
        return takeBack();
      }
      const target = event.target as HTMLElement;
      if (
        control ||
        event.altKey ||
        !target.closest(AREA) ||
        /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
      )
        return;
      if (act(target.closest<HTMLElement>("article[data-turn]"), event.key.toLowerCase()))
        event.preventDefault();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, [takeBack]);
}
