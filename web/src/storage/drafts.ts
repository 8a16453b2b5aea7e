// Drafts on this device. Each tab has its own key per session, so that no tab overwrites another's draft.
// Writes are debounced and flushed before the page goes away.

import { read, remove } from "./local";
import { onOwner, owner, placeOf, placesOf, writeOwn } from "./own";
import { openTab, type Tab } from "./tab";

export interface Written {
  /** The text in the field. */
  text: string;
  /** The last text that the server is known to have had. An equal text has no local edits. */
  base: string;
}

/** Debounce delay after the last key, in milliseconds. */
const PAUSE = 150;
/** The longest delay while a user types without pausing, in milliseconds. */
const PAUSE_MAX = 1_000;

export class LocalDrafts {
  /** Drafts that are not written yet. */
  private readonly pending = new Map<string, { written: Written; told: (kept: boolean) => void }>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** When the oldest pending draft was queued. */
  private since = 0;
  /** The values stored by this tab, so that only changes are written. */
  private readonly stored = new Map<string, string>();
  /** Erased sessions, whose drafts must not be written again. */
  private readonly erased = new Set<string>();

  constructor(
    readonly user: string,
    readonly tab: Tab,
  ) {}

  /** Returns the draft of this tab, or that of the page it showed before a reload. */
  own(session: string): Written | undefined {
    const { id, before } = this.tab;
    const own = this.pending.get(session)?.written ?? this.of(session, id);
    // If this page emptied the draft, the previous page's copy must not come back.
    const isNew = before !== undefined && !this.stored.has(placeOf(this.user, "draft", session, id));
    return own ?? (isNew ? this.of(session, before) : undefined);
  }

  /** Returns the draft of a tab. */
  of(session: string, tab: string): Written | undefined {
    const text = read(placeOf(this.user, "draft", session, tab));
    const base = read(placeOf(this.user, "draft-base", session, tab));
    return text === null && base === null ? undefined : { text: text ?? "", base: base ?? "" };
  }

  /** Returns the other tabs, open or closed, that have a draft in a session. */
  otherTabs(session: string): string[] {
    const places = [...placesOf(this.user, "draft", session), ...placesOf(this.user, "draft-base", session)];
    const tabs = new Set(places.map((place) => place.split(":").at(-1) ?? ""));
    tabs.delete(this.tab.id);
    return [...tabs];
  }

  /** Returns all drafts of a session on this device, this tab's first. */
  all(session: string): Written[] {
    const others = this.otherTabs(session).map((tab) => this.of(session, tab));
    return [this.own(session), ...others].filter((draft) => draft !== undefined);
  }

  /** Returns the sessions that have a draft. */
  sessions(): string[] {
    const places = placesOf(this.user, "draft");
    return [...new Set([...this.pending.keys(), ...places.map((place) => place.split(":")[2] ?? "")])];
  }

  /** Queues a draft to be written. Calls `told` with whether there was room. */
  keep(session: string, written: Written, told: (kept: boolean) => void = () => undefined): void {
    if (this.erased.has(session)) return;
    if (this.timer === undefined) this.since = Date.now();
    this.pending.set(session, { written, told });
    clearTimeout(this.timer);
    const left = this.since + PAUSE_MAX - Date.now();
    this.timer = setTimeout(this.flush, Math.max(0, Math.min(PAUSE, left)));
  }

  /** Writes all pending drafts now. Returns whether there was room for all of them. */
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

  /** Deletes the draft of a tab in a session. */
  remove(session: string, tab: string): void {
    for (const kind of ["draft", "draft-base"] as const) {
      const place = placeOf(this.user, kind, session, tab);
      this.stored.delete(place);
      remove(place);
    }
  }

  /** Deletes every draft of an erased session. */
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

  /** Drops pending drafts without writing them. */
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

/** Returns this tab's drafts for the current user. */
export function localDrafts(): LocalDrafts {
  if (drafts?.user !== owner()) drafts = new LocalDrafts(owner(), (tab ??= openTab()));
  return drafts;
}

/** Returns whether a session has a non-blank draft in any tab of this device. */
export function hasDraft(session: string): boolean {
  return localDrafts()
    .all(session)
    .some(({ text }) => /\S/.test(text));
}

/** Returns the first non-blank draft of a session on this device. */
export function draftHere(session: string): string {
  return (
    localDrafts()
      .all(session)
      .find(({ text }) => /\S/.test(text))?.text ?? ""
  );
}

/** Flushes pending drafts before the page is hidden, frozen or closed. */
export function flushWithPage(
  target: Pick<Window, "addEventListener"> & { document: Document } = window,
): void {
  target.addEventListener("pagehide", () => drafts?.flush());
  target.document.addEventListener("visibilitychange", () => {
    if (target.document.visibilityState === "hidden") drafts?.flush();
  });
}
