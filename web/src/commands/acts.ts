// Actions available on every page. The page changes only after the server confirms.

import { navigate } from "wouter/use-browser-location";

import { store } from "../live/store";
import type { Line } from "../log/types";
import { prefer } from "../settings/preferences";
import { setLanguage, type Language } from "../words/language";
import { sessionIn } from "./places";

export function here(): string | undefined {
  return sessionIn(location.pathname);
}

/** Cycles through the sessions of a kind, starting from the shown one. */
export function goRound(is: (line: Line) => boolean, by: number): void {
  const lines = store.getState().list?.filter(is) ?? [];
  const at = lines.findIndex(({ session }) => session === here());
  const next = lines.at(at < 0 && by < 0 ? -1 : (at + by) % Math.max(1, lines.length));
  if (next !== undefined) navigate(`/s/${next.session}`);
}

export const isLive = (line: Line) => line.run != null;
export const needsYou = (line: Line) => line.needs != null;

/** Focuses the search field. On a phone, opens the page of the list first. */
export function searchAll(): void {
  const focus = () => {
    const field = document.querySelector<HTMLInputElement>(".side input[type=search]");
    if (field === null || field.offsetParent === null) return false;
    field.focus();
    field.select();
    return true;
  };
  if (focus()) return;
  navigate("/");
  requestAnimationFrame(focus);
}

/** Changes the language on this device and in the user's preferences. */
export async function speakElsewhereToo(language: Language): Promise<void> {
  // This device uses the language even if the preference can't be saved.
  await prefer({ language }).catch(() => undefined);
  setLanguage(language);
}
