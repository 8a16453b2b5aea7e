// What is being written in a session: on this device a moment after each key, on the server after a pause, and from there on
// every other device. The text is no state of a component, so that a key draws nothing but the field.

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
  /** The server's last word that was taken in, and its revision. */
  private heard: Known["drafts"][string] | undefined;
  private revision: number | undefined;
  /** Requests are sent one after the other. */
  private sending: Promise<unknown> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Counts the reasons to send: a request of an older one is not repeated. */
  private attempt = 0;
  private isOpen = false;
  /** Drafts of other tabs that are in this one and could not be removed, by tab. */
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

  /** Where it is kept so far. */
  get kept(): "nowhere" | "here" | "server" {
    return this.text === this.base ? "server" : this.room ? "here" : "nowhere";
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Follows the server and takes over drafts of closed tabs, until the returned function is called. */
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

  /** Keeps the text on this device now, and not in a moment. */
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

  /** The server keeps no draft of a session that it does not know yet. */
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

  /** Tells the server after a pause, if it does not have the text. */
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
      // A draft that the server refuses stays on this device. If another device changed it, the server tells how.
      if (error instanceof Refused && !error.passes) return;
      if (attempt === this.attempt) this.sendIn(AGAIN);
    }
  }

  private takeOver(): void {
    const { ifClosed, before } = this.local.tab;
    const move = (tab: string) => this.take(tab) && this.local.remove(this.session, tab);
    for (const tab of this.local.otherTabs(this.session)) {
      // The page before a reload is gone for certain: what is edited from now on is the only copy.
      if (tab === before) move(tab);
      else if (ifClosed === undefined) this.take(tab);
      else void ifClosed(tab, () => void move(tab));
    }
  }

  /** Takes in what another tab wrote. Returns whether all of it is in this tab's own place. */
  private take(tab: string): boolean {
    const other = this.local.of(this.session, tab);
    if (!this.isOpen || other === undefined) return false;
    this.put(join(this.written, other));
    if (this.local.tab.ifClosed === undefined) this.taken.set(tab, other.text);
    return this.local.flush();
  }

  /** The field was emptied: what it held of other tabs was sent or deleted with it. */
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

/** Draws again only if what is picked of a draft changed. */
export function useDraftState<T extends string | boolean>(
  draft: SessionDraft,
  pick: (draft: SessionDraft) => T,
): T {
  return useSyncExternalStore(draft.subscribe, () => pick(draft));
}
