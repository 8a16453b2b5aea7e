// Notifies a user in another tab or window when an answer is ready or needs them. Based on the lines of the list, never
// on streamed text. One tab sends each notification, and none does for a session that is visible in any tab.

import { i18n } from "@lingui/core";
import { useEffect } from "react";
import { useLocation } from "wouter";
import { navigate } from "wouter/use-browser-location";

import { sessionIn } from "../commands/places";
import { onLine } from "../sessions/lists";
import { read, tryWrite } from "../storage/local";
import { newsOf, type News } from "./news";

const PLACE = "notify";

export function canNotify(): boolean {
  return "Notification" in window && "locks" in navigator;
}

/** Whether the user enabled notifications on this device and the browser allows them. */
export function notifies(): boolean {
  return canNotify() && Notification.permission === "granted" && read(PLACE) === "yes";
}

/** Asks for the browser's permission and remembers the answer. */
export async function wantNotifications(): Promise<boolean> {
  const allowed = (await Notification.requestPermission()) === "granted";
  tryWrite(PLACE, allowed ? "yes" : "no");
  return allowed;
}

/** The lock that a tab holds while its session is visible. */
const frontOf = (session: string) => `front:${session}`;

async function isInFront(session: string): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name }) => name === frontOf(session));
}

async function tell({ session, title, what }: News): Promise<void> {
  if (!notifies() || (await isInFront(session))) return;
  const name = title ?? i18n.t("New session");
  const body =
    what === "finished" ? i18n.t("The answer is ready.") : i18n.t("The answer needs you to continue.");
  try {
    // One per session: a newer notification replaces it.
    const shown = new Notification(name, { body, tag: session, icon: "/icon-192.png" });
    shown.onclick = () => {
      window.focus();
      navigate(`/s/${session}`);
      shown.close();
    };
  } catch {
    // Some phones do not allow notifications from pages.
  }
}

/** Waits for a lock and holds it until the returned function is called. */
function hold(name: string, mode: LockMode, held?: () => () => void): () => void {
  const stop = new AbortController();
  const leave = new Promise<void>((resolve) => stop.signal.addEventListener("abort", () => resolve()));
  navigator.locks
    .request(name, { mode, signal: stop.signal }, async () => {
      const end = held?.();
      await leave;
      end?.();
    })
    .catch(() => undefined);
  return () => stop.abort();
}

export function useNotifications(): void {
  const [path] = useLocation();
  const session = sessionIn(path);
  useEffect(() => {
    if (!canNotify()) return;
    return hold("notifier", "exclusive", () =>
      onLine((before, line) => {
        const news = newsOf(before, line);
        if (news !== undefined) void tell(news);
      }),
    );
  }, []);
  useEffect(() => {
    if (!canNotify() || session === undefined) return;
    let leave: (() => void) | undefined;
    const look = () => {
      leave?.();
      leave = document.visibilityState === "visible" ? hold(frontOf(session), "shared") : undefined;
    };
    look();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      leave?.();
    };
  }, [session]);
}
