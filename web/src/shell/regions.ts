// F6 goes round the parts of the page: sessions, conversation, composer.

import { useEffect } from "react";

const PARTS = [".side input", ".area > .thread", ".dock textarea"];

export function useRegions(): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== "F6") return;
      event.preventDefault();
      const parts = PARTS.flatMap((part) => document.querySelector<HTMLElement>(part) ?? []);
      const at = parts.findIndex((part) => {
        const around = part.closest("nav, .area, .dock") ?? part;
        return around.contains(document.activeElement);
      });
      const next = (at + (event.shiftKey ? -1 : 1) + parts.length) % parts.length;
      parts[at < 0 ? 0 : next]?.focus();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
}
