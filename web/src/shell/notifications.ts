// Tells a person who looks elsewhere that an answer is finished, or that they are waited for. Decided from the lines of the
// list, never from what streams. Of several tabs one tells, and of a session that is looked at in any of them none does.

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

/** Whether the person wants to be told on this device, and the browser lets us. */
export function notifies(): boolean {
  return canNotify() && Notification.permission === "granted" && read(PLACE) === "yes";
}

/** The browser asks the person; what it was told holds until that is changed in the browser. */
export async function wantNotifications(): Promise<boolean> {
  const allowed = (await Notification.requestPermission()) === "granted";
  tryWrite(PLACE, allowed ? "yes" : "no");
  return allowed;
}

/** While a session is in front of a person, its tab holds this lock. */
const frontOf = (session: string) => `front:${session}`;

async function isInFront(session: string): Promise<boolean> {
  const { held = [] } = await navigator.locks.query();
  return held.some(({ name }) => name === frontOf(session));
}

async function tell({ session, title, what }: News): Promise<void> {
  if (!notifies() || (await isInFront(session))) return;
  const name = title ?? i18n.t("New session");
  const body = what === "finished" ? i18n.t("The answer is finished.") : i18n.t("It needs you to go on.");
  try {
    // One for each session: the next takes its place.
    const shown = new Notification(name, { body, tag: session, icon: "/icon-192.png" });
    shown.onclick = () => {
      window.focus();
      navigate(`/s/${session}`);
      shown.close();
    };
  } catch {
    // Some phones show none that a page makes.
  }
}

/** Holds a lock until it is told to let go; waits for it if another tab has it. */
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
