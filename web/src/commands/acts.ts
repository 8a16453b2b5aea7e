// What can be done from anywhere. Nothing on the page changes by it: the server says when it happened.

import { navigate } from "wouter/use-browser-location";

import { store } from "../live/store";
import type { Line } from "../log/types";
import { prefer } from "../settings/preferences";
import { setLanguage, type Language } from "../words/language";
import { sessionIn } from "./places";

export function here(): string | undefined {
  return sessionIn(location.pathname);
}

/** Goes round the sessions of a kind, from the one that is shown. */
export function goRound(is: (line: Line) => boolean, by: number): void {
  const lines = store.getState().list?.filter(is) ?? [];
  const at = lines.findIndex(({ session }) => session === here());
  const next = lines.at(at < 0 && by < 0 ? -1 : (at + by) % Math.max(1, lines.length));
  if (next !== undefined) navigate(`/s/${next.session}`);
}

export const isLive = (line: Line) => line.run != null;
export const needsYou = (line: Line) => line.needs != null;

/** The field that searches all sessions; on a phone it stands on a page of its own. */
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

/** Here, and wherever the person signs in next. */
export async function speakElsewhereToo(language: Language): Promise<void> {
  // Where that cannot be kept, this device speaks it all the same.
  await prefer({ language }).catch(() => undefined);
  setLanguage(language);
}
