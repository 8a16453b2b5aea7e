// When to ask whether a person wants to be told: once they sent something, looked elsewhere while it was answered, and came
// back. Never before, and not again for a while when they would rather not.

import { useEffect } from "react";

import { store } from "../live/store";
import { read, tryWrite } from "../storage/local";
import { answered } from "./news";
import { canNotify } from "./notifications";
import { ui } from "./ui";

const LATER = "notify-later";
const LATER_MILLIS = 30 * 24 * 60 * 60 * 1_000;

function mayAsk(): boolean {
  if (!canNotify() || Notification.permission !== "default" || read("notify") !== null) return false;
  return Date.now() - Number(read(LATER) ?? 0) > LATER_MILLIS;
}

export function askLater(): void {
  tryWrite(LATER, String(Date.now()));
  ui.setState({ offers: false });
}

export function useOffer(): void {
  useEffect(() => {
    const sent = new Set<string>();
    let left = false;
    const unsubscribe = store.subscribe(({ outbox }, before) => {
      if (outbox.length > before.outbox.length && before.user != null)
        for (const { session } of outbox.slice(before.outbox.length)) sent.add(session);
    });
    const look = () => {
      if (document.visibilityState === "hidden") left = answered(sent, store.getState()).length > 0;
      else if (left && mayAsk()) ui.setState({ offers: true });
    };
    document.addEventListener("visibilitychange", look);
    return () => {
      unsubscribe();
      document.removeEventListener("visibilitychange", look);
    };
  }, []);
}
