// The draft of a session. Saved on this device moments after each key, on the server after a pause, and synced
// from there to the user's other devices. The text is not React state, so that a key re-renders only the field.

import { useEffect, useState, useSyncExternalStore } from "react";
import type { StoreApi } from "zustand/vanilla";

import { ask, Refused } from "../api/client";
import { DEVICE, store, type Known } from "../live/store";
import { localDrafts, type LocalDrafts, type Written } from "../storage/drafts";
import { isLate, join, meet } from "./meet";

/** So long after the last key the server is told. */
const PAUSE = 500;
const AGAIN = 3_000;

type Store = Pick<StoreApi<Known>, "getState" | "subscribe">;

export class SessionDraft {
  private written: Written | undefined;
  private room = true;
  private readonly listeners = new Set<() => void>();
  /** The last draft received from the server, and its revision. */
  private heard: Known["drafts"][string] | undefined;
  private revision: number | undefined;
  /** Serializes the requests. */
  private sending: Promise<unknown> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Incremented to cancel earlier attempts: an attempt with an older number is not retried. */
  private attempt = 0;
  private isOpen = false;
  /** Drafts merged from other tabs that may still be open, by tab. They are deleted when the field is emptied. */
  private readonly taken = new Map<string, string>();

  constructor(
    readonly session: string,
    private readonly local: LocalDrafts = localDrafts(),
    private readonly known: Store = store,
    private readonly device: string = DEVICE,
  ) {
    this.written = local.own(session);
  }

  get text(): string {
    return this.written?.text ?? "";
  }

  private get base(): string {
    return this.written?.base ?? "";
  }

  /** Where the current text is saved. */
  get kept(): "nowhere" | "here" | "server" {
    return this.text === this.base ? "server" : this.room ? "here" : "nowhere";
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Follows the server and takes over the drafts of closed tabs, until the returned function is called. */
  start(): () => void {
    this.isOpen = true;
    const leave = this.known.subscribe((now, before) => {
      if (this.isOn(now) !== this.isOn(before) || now.drafts[this.session] !== before.drafts[this.session])
        this.hear();
    });
    this.takeOver();
    this.hear();
    return () => {
      leave();
      this.isOpen = false;
      this.rest();
      this.local.flush();
    };
  }

  write(text: string): void {
    this.put({ text, base: this.base });
    if (text === "") this.forgetTaken();
  }

  /** Saves the text on this device at once. */
  save(): void {
    this.local.flush();
  }

  private put(next: Written): void {
    this.written = next;
    this.local.keep(this.session, next, (kept) => this.setRoom(kept));
    this.tell();
    this.schedule();
  }

  private setRoom(room: boolean): void {
    if (room === this.room) return;
    this.room = room;
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }

  /** The server stores no drafts for a session that exists on this device only. */
  private isOn({ link, fresh }: Known): boolean {
    return link.kind === "open" && fresh[this.session] === undefined;
  }

  private hear(): void {
    const told = this.known.getState().drafts[this.session];
    if (told !== undefined && told !== this.heard && !isLate(told, this.revision)) {
      this.heard = told;
      this.revision = told.revision;
      if (told.device !== this.device)
        return this.put(meet(this.written ?? { text: "", base: "" }, told.text));
    }
    this.schedule();
  }

  /** Sends the text after a pause if the server does not have it. */
  private schedule(): void {
    this.rest();
    const known = this.known.getState();
    const isWanted = this.text !== this.base && known.drafts[this.session] !== undefined;
    if (isWanted && this.isOpen && this.isOn(known)) this.sendIn(PAUSE);
  }

  private rest(): void {
    clearTimeout(this.timer);
    this.attempt += 1;
  }

  private sendIn(pause: number): void {
    const attempt = this.attempt;
    this.timer = setTimeout(() => {
      this.sending = this.sending.then(() => this.send(attempt));
    }, pause);
  }

  private async send(attempt: number): Promise<void> {
    if (attempt !== this.attempt) return;
    const { text } = this;
    try {
      const body = { text, base: this.revision, device: this.device };
      const kept = await ask<{ revision: number }>("PUT", `/sessions/${this.session}/draft`, { body });
      this.revision = kept.revision;
      this.put({ text: this.text, base: text });
    } catch (error) {
      // A rejected draft stays on this device. If another device changed it, the server sends the newer text.
      if (error instanceof Refused && !error.passes) return;
      if (attempt === this.attempt) this.sendIn(AGAIN);
    }
  }

  private takeOver(): void {
    const { ifClosed, before } = this.local.tab;
    const move = (tab: string) => this.take(tab) && this.local.remove(this.session, tab);
    for (const tab of this.local.otherTabs(this.session)) {
      // After a reload the previous page is certainly closed, so its draft is moved without waiting for a lock.
      if (tab === before) move(tab);
      else if (ifClosed === undefined) this.take(tab);
      else void ifClosed(tab, () => void move(tab));
    }
  }

  /** Merges the draft of another tab. Returns whether all of it is saved under this tab's name. */
  private take(tab: string): boolean {
    const other = this.local.of(this.session, tab);
    if (!this.isOpen || other === undefined) return false;
    this.put(join(this.written, other));
    if (this.local.tab.ifClosed === undefined) this.taken.set(tab, other.text);
    return this.local.flush();
  }

  /** Deletes the drafts merged from other tabs: they were sent or deleted with this one. */
  private forgetTaken(): void {
    for (const [tab, text] of this.taken)
      if (this.local.of(this.session, tab)?.text === text) this.local.remove(this.session, tab);
    this.taken.clear();
  }
}

export function useDraft(session: string): SessionDraft {
  const [draft] = useState(() => new SessionDraft(session));
  useEffect(() => draft.start(), [draft]);
  return draft;
}

/** Re-renders only if the picked part of the draft changed. */
export function useDraftState<T extends string | boolean>(
  draft: SessionDraft,
  pick: (draft: SessionDraft) => T,
): T {
  return useSyncExternalStore(draft.subscribe, () => pick(draft));
}
