// How much of its window the agent last read, and what the turns in the state cost.

import { useId } from "react";

import type { State, Usage } from "../log/types";
import { useKnown } from "../shell/use";

const NEARLY_FULL = 0.8;

/** Tokens of the last step: each step reads the session anew. */
function lastRead(state: State): number {
  const run = state.turns.at(-1)?.runs.at(-1);
  if (run === undefined) return 0;
  const steps = Math.max(1, run.steps);
  return Math.round((run.usage.input_tokens + run.usage.output_tokens) / steps);
}

const number = new Intl.NumberFormat();

export function Context({ session }: { session: string }) {
  const state = useKnown(({ sessions }) => sessions[session]?.state);
  const models = useKnown(({ models }) => models);
  const id = useId();
  if (state === undefined) return null;
  const named = state.turns.at(-1)?.message.model;
  const model = models.find(({ name }) => name === named) ?? models[0];
  const read = lastRead(state);
  if (model === undefined || read === 0) return null;
  const part = Math.min(1, read / model.window_tokens);
  const percent = `${Math.round(part * 100)}%`;
  const usage = state.turns.flatMap(({ runs }) => runs.map((run) => run.usage));
  const sum = (pick: (used: Usage) => number) => usage.reduce((sum, used) => sum + pick(used), 0);
  const cost = sum((used) => used.cost_micros ?? 0) / 1_000_000;
  const circle = 2 * Math.PI * 7;
  return (
    <>
      <button type="button" className="context" popoverTarget={id} aria-label={`Context ${percent} full`}>
        <svg viewBox="0 0 18 18" aria-hidden="true" className={part >= NEARLY_FULL ? "ring full" : "ring"}>
          <circle cx="9" cy="9" r="7" />
          <circle
            cx="9"
            cy="9"
            r="7"
            className="used"
            strokeDasharray={`${circle * part} ${circle}`}
            transform="rotate(-90 9 9)"
          />
        </svg>
        <span className="num">{percent}</span>
      </button>
      <div id={id} popover="auto" className="pop">
        <h2>Context</h2>
        <dl>
          <dt>Read last</dt>
          <dd className="num">
            {number.format(read)} of {number.format(model.window_tokens)} tokens
          </dd>
          <dt>Model</dt>
          <dd>{model.name}</dd>
          <dt>Read in all turns here</dt>
          <dd className="num">{number.format(sum((used) => used.input_tokens))} tokens</dd>
          <dt>Said</dt>
          <dd className="num">{number.format(sum((used) => used.output_tokens))} tokens</dd>
          {cost > 0 && (
            <>
              <dt>Cost</dt>
              <dd className="num">{cost.toFixed(4)}</dd>
            </>
          )}
        </dl>
        <p>Near 80% the agent gets a summary of older turns. You keep the full text.</p>
      </div>
    </>
  );
}
