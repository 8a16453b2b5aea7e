// What is being written in sessions, on this device. Each tab has a place of its own for each session, so that none writes
// over what another keeps. Keys are gathered: a draft is written a moment after the last one, and before the page is gone.

import { read, remove } from "./local";
import { onOwner, owner, placeOf, placesOf, writeOwn } from "./own";
import { openTab, type Tab } from "./tab";

export interface Written {
  /** What stands in the field. */
  text: string;
  /** What the server is known to have had: a field that says the same was not touched since. */
  base: string;
}

/** So long after the last key a draft is written. */
const PAUSE = 150;
/** Somebody who never pauses waits no longer for it. */
const PAUSE_MAX = 1_000;

export class LocalDrafts {
  /** Drafts that are not written yet. */
  private readonly pending = new Map<string, { written: Written; told: (kept: boolean) => void }>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When the oldest of them began to wait. */
  private since = 0;
  /** What stands in this tab's places: only what changed is written. */
  private readonly stored = new Map<string, string>();
  /** Erased sessions: nothing is written in them any more. */
  private readonly erased = new Set<string>();

  constructor(
    readonly user: string,
    readonly tab: Tab,
  ) {}

  /** Returns the draft of this tab, or of the page that it showed before. */
  own(session: string): Written | undefined {
    const { id, before } = this.tab;
    const own = this.pending.get(session)?.written ?? this.of(session, id);
    // An empty place that this page emptied says that nothing is written.
    const isNew = before !== undefined && !this.stored.has(placeOf(this.user, "draft", session, id));
    return own ?? (isNew ? this.of(session, before) : undefined);
  }

  /** Returns the draft that a tab wrote. */
  of(session: string, tab: string): Written | undefined {
    const text = read(placeOf(this.user, "draft", session, tab));
    const base = read(placeOf(this.user, "draft-base", session, tab));
    return text === null && base === null ? undefined : { text: text ?? "", base: base ?? "" };
  }

  /** Returns the other tabs, open and closed, that wrote something in a session. */
  otherTabs(session: string): string[] {
    const places = [...placesOf(this.user, "draft", session), ...placesOf(this.user, "draft-base", session)];
    const tabs = new Set(places.map((place) => place.split(":").at(-1) ?? ""));
    tabs.delete(this.tab.id);
    return [...tabs];
  }

  /** Returns all drafts of a session on this device, that of this tab first. */
  all(session: string): Written[] {
    const others = this.otherTabs(session).map((tab) => this.of(session, tab));
    return [this.own(session), ...others].filter((draft) => draft !== undefined);
  }

  /** Returns the sessions that something was written in. */
  sessions(): string[] {
    const places = placesOf(this.user, "draft");
    return [...new Set([...this.pending.keys(), ...places.map((place) => place.split(":")[2] ?? "")])];
  }

  /** Keeps a draft, soon. `told` hears whether there was room for it. */
  keep(session: string, written: Written, told: (kept: boolean) => void = () => undefined): void {
    if (this.erased.has(session)) return;
    if (this.timer === undefined) this.since = Date.now();
    this.pending.set(session, { written, told });
    clearTimeout(this.timer);
    const left = this.since + PAUSE_MAX - Date.now();
    this.timer = setTimeout(this.flush, Math.max(0, Math.min(PAUSE, left)));
  }

  /** Writes what waits, now. Returns whether there was room for all of it. */
  readonly flush = (): boolean => {
    this.stop();
    for (const [session, { written, told }] of [...this.pending]) {
      const kept = this.write(session, written);
      if (kept) this.pending.delete(session);
      told(kept);
    }
    return this.pending.size === 0;
  };

  private write(session: string, { text, base }: Written): boolean {
    try {
      this.put(placeOf(this.user, "draft", session, this.tab.id), text);
      this.put(placeOf(this.user, "draft-base", session, this.tab.id), base);
      return true;
    } catch {
      return false;
    }
  }

  private put(place: string, text: string): void {
    if (this.stored.get(place) === text) return;
    this.stored.delete(place);
    if (text === "") remove(place);
    else writeOwn(place, text);
    this.stored.set(place, text);
  }

  /** Deletes what a tab wrote in a session. */
  remove(session: string, tab: string): void {
    for (const kind of ["draft", "draft-base"] as const) {
      const place = placeOf(this.user, kind, session, tab);
      this.stored.delete(place);
      remove(place);
    }
  }

  /** Deletes every draft of a session, which is erased. */
  forget(session: string): void {
    this.pending.delete(session);
    this.erased.add(session);
    for (const tab of [this.tab.id, ...this.otherTabs(session)]) this.remove(session, tab);
  }

  /** Deletes the drafts that the server has. */
  dropSaved(): void {
    for (const session of this.sessions())
      for (const tab of [this.tab.id, ...this.otherTabs(session)]) {
        const draft = this.of(session, tab);
        if (draft?.text === draft?.base) this.remove(session, tab);
      }
  }

  /** Writes nothing of what waits. */
  discard(): void {
    this.stop();
    this.pending.clear();
  }

  private stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}

let tab: Tab | undefined;
let drafts: LocalDrafts | undefined;

onOwner(() => {
  drafts?.flush();
  drafts = undefined;
});

/** Returns the drafts of this page's user in this tab. */
export function localDrafts(): LocalDrafts {
  if (drafts?.user !== owner()) drafts = new LocalDrafts(owner(), (tab ??= openTab()));
  return drafts;
}

/** Returns whether something is written in a session in any tab of this device. */
export function hasDraft(session: string): boolean {
  return localDrafts()
    .all(session)
    .some(({ text }) => /\S/.test(text));
}

/** Returns the first text that is written in a session on this device. */
export function draftHere(session: string): string {
  return (
    localDrafts()
      .all(session)
      .find(({ text }) => /\S/.test(text))?.text ?? ""
  );
}

/** Writes what waits before the page is hidden, frozen or gone. */
export function flushWithPage(
  target: Pick<Window, "addEventListener"> & { document: Document } = window,
): void {
  target.addEventListener("pagehide", () => drafts?.flush());
  target.document.addEventListener("visibilitychange", () => {
    if (target.document.visibilityState === "hidden") drafts?.flush();
  });
}
