// Which tab this is. Each page that is loaded gets a name of its own and holds a lock of that name for as long as it is open,
// so that the others can tell it from one that was closed. A page that is left leaves its name in its tab, for the page after
// a reload. A copy of an open tab finds none there.

const PLACE = "tab";
/** Reloading a page may take so long to give the locks of the page before it away. */
const PATIENCE = 3_000;

type Locks = Pick<LockManager, "request">;
type Values = Pick<Storage, "getItem" | "setItem" | "removeItem">;
type Page = Pick<EventTarget, "addEventListener">;

export interface Tab {
  readonly id: string;
  /** The name of the page that this tab showed before. */
  readonly before: string | undefined;
  /** Runs `work` if a tab is closed, and in one tab at a time; none in a browser that cannot tell. */
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

/** Names the page that was loaded. */
export function openTab(
  values: Values | undefined = sessionValues(),
  locks: Locks | undefined = globalThis.navigator?.locks,
  page: Page | undefined = globalThis.window,
): Tab {
  const before = takeName(values);
  // Without locks nobody can tell when a page is closed, so the tab keeps its name.
  const id = (locks === undefined ? before : undefined) ?? crypto.randomUUID();
  page?.addEventListener("pagehide", () => leaveName(values, id));
  page?.addEventListener("pageshow", () => takeName(values));
  if (locks === undefined) return { id, before: undefined, ifClosed: undefined };
  // Never given back: closing the page does.
  locks.request(lockOf(id), () => new Promise(() => undefined)).catch(() => undefined);
  const ifClosed = async (tab: string, work: () => void) => {
    const signal = AbortSignal.timeout(PATIENCE);
    // Rejected when the other tab is still open then.
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
    // The page after a reload counts as a new tab.
  }
}
