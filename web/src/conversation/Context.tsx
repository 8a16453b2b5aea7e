// The size of the context in the last step, and the cost of the loaded turns.

import { i18n } from "@lingui/core";
import { useId } from "react";

import type { State, Usage } from "../log/types";
import { useKnown } from "../shell/use";
import { costOf, countOf, percentOf } from "../shell/words";

const NEARLY_FULL = 0.8;

/** Returns the average tokens per step of the newest run: each step reads the whole session again. */
function lastRead(state: State): number {
  const run = state.turns.at(-1)?.runs.at(-1);
  if (run === undefined) return 0;
  const steps = Math.max(1, run.steps);
  return Math.round((run.usage.input_tokens + run.usage.output_tokens) / steps);
}

function tokensOf(count: number): string {
  return i18n.t("{count, plural, one {# token} other {# tokens}}", { count });
}

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
  const percent = percentOf(part);
  const usage = state.turns.flatMap(({ runs }) => runs.map((run) => run.usage));
  const sum = (pick: (used: Usage) => number) => usage.reduce((sum, used) => sum + pick(used), 0);
  const cost = sum((used) => used.cost_micros ?? 0) / 1_000_000;
  const circle = 2 * Math.PI * 7;
  return (
    <>
      <button
        type="button"
        className="context"
        popoverTarget={id}
        aria-label={i18n.t("Context {percent} full", { percent })}
      >
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
        <h2>{i18n.t("Context")}</h2>
        <dl>
          <dt>{i18n.t("In context")}</dt>
          <dd className="num">
            {i18n.t("{count} of {all} tokens", {
              count: countOf(read),
              all: countOf(model.window_tokens),
            })}
          </dd>
          <dt>{i18n.t("Model")}</dt>
          <dd>{model.name}</dd>
          <dt>{i18n.t("Input tokens, total")}</dt>
          <dd className="num">{tokensOf(sum((used) => used.input_tokens))}</dd>
          <dt>{i18n.t("Output tokens, total")}</dt>
          <dd className="num">{tokensOf(sum((used) => used.output_tokens))}</dd>
          {cost > 0 && (
            <>
              <dt>{i18n.t("Cost")}</dt>
              <dd className="num">{costOf(cost)}</dd>
            </>
          )}
        </dl>
        <p>{i18n.t("At about 80%, the agent gets a summary of older turns. You still see the full text.")}</p>
      </div>
    </>
  );
}
