// The identity of this tab. Each page load gets a new name and holds a lock under it while it is open. Other
// tabs can therefore tell open pages from closed ones. A page that is left stores its name in session storage,
// for the page after a reload. A duplicate of an open tab finds none.

const PLACE = "tab";
/** Timeout for another tab's lock, in milliseconds. A page that closes takes a moment to release it. */
const PATIENCE = 3_000;

type Locks = Pick<LockManager, "request">;
type Values = Pick<Storage, "getItem" | "setItem" | "removeItem">;
type Page = Pick<EventTarget, "addEventListener">;

export interface Tab {
  readonly id: string;
  /** The name of the page that this tab showed before the reload. */
  readonly before: string | undefined;
  /** Runs `work` if a tab is closed, in one tab at a time. Undefined if the browser has no locks. */
  readonly ifClosed: ((tab: string, work: () => void) => Promise<void>) | undefined;
}

function lockOf(tab: string): string {
  return `tab:${tab}`;
}

function sessionValues(): Storage | undefined {
  try {
    return globalThis.sessionStorage;
  } catch {
    return undefined;
  }
}

/** Names this page load and takes its lock. */
export function openTab(
  values: Values | undefined = sessionValues(),
  locks: Locks | undefined = globalThis.navigator?.locks,
  page: Page | undefined = globalThis.window,
): Tab {
  const before = takeName(values);
  // Without locks, closed pages cannot be detected, so the name is reused across reloads.
  const id = (locks === undefined ? before : undefined) ?? crypto.randomUUID();
  page?.addEventListener("pagehide", () => leaveName(values, id));
  page?.addEventListener("pageshow", () => takeName(values));
  if (locks === undefined) return { id, before: undefined, ifClosed: undefined };
  // Held until the page closes.
  locks.request(lockOf(id), () => new Promise(() => undefined)).catch(() => undefined);
  const ifClosed = async (tab: string, work: () => void) => {
    const signal = AbortSignal.timeout(PATIENCE);
    // Rejects if the other tab is still open after the timeout.
    await locks.request(lockOf(tab), { signal }, async () => work()).catch(() => undefined);
  };
  return { id, before, ifClosed };
}

function takeName(values: Values | undefined): string | undefined {
  try {
    const name = values?.getItem(PLACE) ?? undefined;
    values?.removeItem(PLACE);
    return name;
  } catch {
    return undefined;
  }
}

function leaveName(values: Values | undefined, name: string): void {
  try {
    values?.setItem(PLACE, name);
  } catch {
    // Without session storage, the page after a reload counts as a new tab.
  }
}
