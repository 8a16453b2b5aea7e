// Asks the thread that reads code. Whatever goes wrong there, the code stays as it is: plain.

import place from "./colours.worker?worker&url";
import type { Run } from "./kinds";

/**
 * A grammar can take for ever on a text that its author did not think of; then the thread is ended. The large ones take
 * seconds to prepare on a slow machine.
 */
const PATIENCE_MILLIS = 30_000;
/** Blocks that scroll away and come back have their colours at once. */
const KEPT_BLOCKS_MAX = 200;

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(place: string): string }): typeof rules;
}
/** The page runs no script whose address was not vouched for: here the one that the build wrote. */
const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
const vouched = types?.createPolicy("colours", { createScriptURL: () => place });

type Answer = (runs: readonly Run[]) => void;

const kept = new Map<string, readonly Run[]>();
const awaited = new Map<number, Answer>();
/** Grammars that were waited for in vain. */
const tooSlow = new Set<string>();
let thread: Worker | undefined;
let asked = 0;

const keyOf = (grammar: string, text: string) => `${grammar}\n${text}`;

/** What is known of a text already. */
export function colours(grammar: string, text: string): readonly Run[] | undefined {
  return kept.get(keyOf(grammar, text));
}

/** The runs of a text; none when it could not be read. */
export async function colour(grammar: string, text: string): Promise<readonly Run[]> {
  const known = colours(grammar, text);
  if (known !== undefined) return known;
  const runs = await ask(grammar, text);
  kept.set(keyOf(grammar, text), runs);
  const oldest = kept.keys().next().value;
  if (kept.size > KEPT_BLOCKS_MAX && oldest !== undefined) kept.delete(oldest);
  return runs;
}

async function ask(grammar: string, text: string): Promise<readonly Run[]> {
  if (tooSlow.has(grammar)) return [];
  thread ??= begin();
  const id = (asked += 1);
  thread.postMessage({ id, grammar, text });
  return new Promise((resolve) => {
    const waited = setTimeout(() => {
      tooSlow.add(grammar);
      giveUp();
    }, PATIENCE_MILLIS);
    awaited.set(id, (runs) => {
      clearTimeout(waited);
      resolve(runs);
    });
  });
}

function begin(): Worker {
  const worker = new Worker(vouched?.createScriptURL(place) ?? place, { type: "module" });
  worker.addEventListener("message", ({ data }: MessageEvent<{ id: number; runs: readonly Run[] }>) => {
    awaited.get(data.id)?.(data.runs);
    awaited.delete(data.id);
  });
  worker.addEventListener("error", giveUp);
  return worker;
}

/** All that was asked stays plain; the next one that is asked begins a new thread. */
function giveUp(): void {
  thread?.terminate();
  thread = undefined;
  for (const answer of awaited.values()) answer([]);
  awaited.clear();
}
