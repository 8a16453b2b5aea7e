// What answers a turn: prose, and quiet rows for reasoning and tools.

import { Trans } from "@lingui/react";
import { memo } from "react";

import type { Part } from "../log/types";
import { Markdown } from "../markdown/Markdown";
import { MarkerLine } from "./MarkerLine";
import { Said } from "./Said";
import { Steps } from "./Steps";
import { stretchesOf, type Other } from "./trace";

/** What the agent said and did, in the order in which it happened. */
export function Parts({ parts, live }: { parts: readonly Part[]; live: boolean }) {
  const stretches = stretchesOf(parts);
  const end = parts.at(-1);
  const writes = end !== undefined && "text" in end;
  return (
    <div className={live ? "parts live" : "parts"}>
      {stretches.map((stretch, place) => {
        const last = place === stretches.length - 1;
        return "steps" in stretch ? (
          // What an answer ends with stays in sight: it tells what was going on when it was stopped.
          <Steps key={stretch.at} steps={stretch.steps} folded={!live && !last} live={live && last} />
        ) : (
          <OnePart key={stretch.at} part={stretch.part} live={live && last} />
        );
      })}
      {/* Behind prose it stands in the line, drawn by its style. */}
      {live && !writes && <span className="caret" aria-hidden="true" />}
    </div>
  );
}

const OnePart = memo(function OnePart({ part, live }: { part: Other; live: boolean }) {
  if ("text" in part) return <Markdown text={part.text} live={live} />;
  if ("marker" in part) return <MarkerLine marker={part.marker} wentOn />;
  return (
    <div className="steered">
      <div className="who">
        <Trans id="<0>You</0> steered the agent here" components={{ 0: <b /> }} />
      </div>
      <Said message={part.steered.message} />
    </div>
  );
});
