// What a screen reader is told: events, never tokens; at least two seconds apart, those that came meanwhile together.

import { createStore } from "zustand/vanilla";

const APART = 2_000;

export const said = createStore<{ text: string }>(() => ({ text: "" }));

let waiting: string[] = [];
let timer: ReturnType<typeof setTimeout> | undefined;
let last = 0;

export function announce(text: string): void {
  if (!waiting.includes(text)) waiting.push(text);
  timer ??= setTimeout(speak, Math.max(0, last + APART - Date.now()));
}

function speak(): void {
  timer = undefined;
  last = Date.now();
  said.setState({ text: waiting.join(" ") });
  waiting = [];
}
