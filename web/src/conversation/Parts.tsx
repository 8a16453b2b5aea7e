// What answers a turn: prose, and quiet rows for reasoning and tools.

import { Trans } from "@lingui/react";
import { memo } from "react";

import type { Interruption, Part } from "../log/types";
import { variant } from "../log/variants";
import { Markdown } from "../markdown/Markdown";
import { newerWords } from "../shell/words";
import { Cuts } from "./Cuts";
import { Said } from "./Said";
import { Steps } from "./Steps";
import { stretchesOf, type Other } from "./trace";

interface Props {
  parts: readonly Part[];
  /** Where the answer was interrupted before it was continued. */
  interruptions?: readonly Interruption[] | undefined;
  live: boolean;
}

const NONE: readonly Interruption[] = [];

/** What the agent said and did, in the order in which it happened. */
export function Parts({ parts, interruptions = NONE, live }: Props) {
  const stretches = stretchesOf(parts);
  const end = parts.at(-1);
  const writes = end !== undefined && variant(end, "text") !== undefined;
  return (
    <div className={live ? "parts live" : "parts"}>
      {stretches.map((stretch, place) => {
        const last = place === stretches.length - 1;
        const next = stretches[place + 1]?.at ?? parts.length;
        const cuts = interruptions.filter(({ part }) => part >= stretch.at && part < next);
        return "steps" in stretch ? (
          // What an answer ends with stays in sight: it tells what was going on when it was stopped.
          <Steps
            key={stretch.at}
            steps={stretch.steps}
            folded={!live && !last}
            live={live && last}
            cuts={cuts}
          />
        ) : (
          <OnePart key={stretch.at} part={stretch.part} live={live && last} cuts={cuts} />
        );
      })}
      {/* Behind prose it stands in the line, drawn by its style. */}
      {live && !writes && <span className="caret" aria-hidden="true" />}
    </div>
  );
}

interface PartProps {
  part: Other;
  live: boolean;
  cuts: readonly Interruption[];
}

const OnePart = memo(
  function OnePart({ part, live, cuts }: PartProps) {
    const text = variant(part, "text");
    if (text !== undefined) return <Markdown text={text} live={live} cuts={cuts} />;
    const steered = variant(part, "steered");
    if (steered === undefined) return <Newer cuts={cuts} />;
    return (
      <div className="steered">
        <Cuts of={cuts.map(({ marker }) => marker)} />
        <div className="who">
          <Trans id="<0>You</0> steered the agent here" components={{ 0: <b /> }} />
        </div>
        <Said message={steered.message} />
      </div>
    );
  },
  (one, other) => one.part === other.part && one.live === other.live && sameCuts(one.cuts, other.cuts),
);

/** Placeholder for content that only a newer version can show. */
function Newer({ cuts }: { cuts: readonly Interruption[] }) {
  return (
    <div className="steps">
      <Cuts of={cuts.map(({ marker }) => marker)} />
      <p className="dim" data-newer="">
        {newerWords()}
      </p>
    </div>
  );
}

function sameCuts(one: readonly Interruption[], other: readonly Interruption[]): boolean {
  return (
    one.length === other.length &&
    one.every(({ marker: { run, kind } }, at) => {
      const marker = other[at]?.marker;
      return marker?.run === run && marker.kind === kind;
    })
  );
}
