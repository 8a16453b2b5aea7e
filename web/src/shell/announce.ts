// What a screen reader is told: events, never tokens; at least two seconds apart, those that came meanwhile together.

import { createStore } from "zustand/vanilla";

const APART = 2_000;

export const said = createStore<{ text: string }>(() => ({ text: "" }));

let waiting: { text: string; topic: string | undefined }[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let last = 0;

/** Announces a text. It replaces a waiting one of the same topic, which is no longer true. */
export function announce(text: string, topic?: string): void {
  waiting = waiting.filter((other) => other.text !== text && (topic === undefined || other.topic !== topic));
  waiting.push({ text, topic });
  timer ??= setTimeout(speak, Math.max(0, last + APART - Date.now()));
}

function speak(): void {
  timer = undefined;
  last = Date.now();
  said.setState({ text: waiting.map(({ text }) => text).join(" ") });
  waiting = [];
}
