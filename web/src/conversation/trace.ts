// Groups consecutive reasoning and tool steps, and labels them.

import { i18n } from "@lingui/core";

import type { Part } from "../log/types";
import { variant } from "../log/variants";
import { newerWords } from "../shell/words";

export type Step = Extract<Part, { reasoning: string } | { call: unknown }>;
export type Other = Exclude<Part, Step>;
export type Call = Extract<Part, { call: unknown }>["call"];

/** A part of an answer, or consecutive steps. `at` is the index of the first part. */
export type Stretch = { at: number; part: Other } | { at: number; steps: Step[] };

export function isStep(part: Part): part is Step {
  return variant(part, "reasoning") !== undefined || variant(part, "call") !== undefined;
}

export function stretchesOf(parts: readonly Part[]): Stretch[] {
  const stretches: Stretch[] = [];
  for (const [at, part] of parts.entries()) {
    const last = stretches.at(-1);
    if (!isStep(part)) stretches.push({ at, part });
    else if (last !== undefined && "steps" in last) last.steps.push(part);
    else stretches.push({ at, steps: [part] });
  }
  return stretches;
}

/** Returns the counts of each kind of step: 2 thoughts, 3 tool calls. */
export function kindsOf(steps: readonly Step[]): string {
  const thoughts = steps.filter((step) => "reasoning" in step).length;
  const calls = steps.length - thoughts;
  const kinds = [
    ...(thoughts > 0
      ? [i18n.t("{count, plural, one {# thought} other {# thoughts}}", { count: thoughts })]
      : []),
    ...(calls > 0
      ? [i18n.t("{count, plural, one {# tool call} other {# tool calls}}", { count: calls })]
      : []),
  ];
  return kinds.join(", ");
}

export function failuresOf(steps: readonly Step[]): number {
  return steps.filter((step) => "call" in step && step.call.state === "failed").length;
}

/** Returns the label of a call's state. `live` if the agent is working on it now. */
export function verbOf(state: Call["state"], live: boolean): string {
  switch (state) {
    case "incomplete":
      return live ? i18n.t("Preparing") : i18n.t("Didn't run");
    case "running":
      return i18n.t("Running");
    case "may_have_run":
      return i18n.t("May have run");
    case "finished":
    case "failed":
      return i18n.t("Ran");
    default:
      return newerWords();
  }
}

function fieldsOf(given: string): [name: string, value: unknown][] | undefined {
  try {
    const value: unknown = JSON.parse(given);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? Object.entries(value) : undefined;
  } catch {
    return undefined;
  }
}

/** Formats arguments, one per line, strings without quotes and escapes. Undefined if they are not a JSON object. */
export function readable(given: string): string | undefined {
  return fieldsOf(given)
    ?.map(([name, value]) => {
      const text = typeof value === "string" ? value : written(value);
      return text.includes("\n") ? `${name}:\n${text.replace(/^/gm, "  ")}` : `${name}: ${text}`;
    })
    .join("\n");
}

const LINE_LETTERS = 60;

function written(value: unknown): string {
  const line = JSON.stringify(value);
  return line.length <= LINE_LETTERS ? line : JSON.stringify(value, null, 2);
}

/** Returns the first line of the first string argument, which usually names the subject. */
export function gistOf(given: string): string | undefined {
  const texts = fieldsOf(given)?.flatMap(([, value]) => (typeof value === "string" ? [value] : []));
  const line = texts?.[0]?.trim().split("\n")[0]?.trim();
  return line === "" ? undefined : line;
}
