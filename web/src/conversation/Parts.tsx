// What answers a turn: prose, and quiet rows for reasoning and tools.

import { Brain, ChevronRight, Terminal } from "lucide-react";
import { memo, useState } from "react";

import type { Part } from "../log/types";
import { Markdown } from "../markdown/Markdown";
import { MarkerLine } from "./MarkerLine";
import { Said } from "./Said";

/** What the agent said and did, in the order in which it happened. */
export function Parts({ parts, live }: { parts: readonly Part[]; live: boolean }) {
  return (
    <div className="parts">
      {parts.map((part, at) => (
        <OnePart key={at} part={part} last={live && at === parts.length - 1} />
      ))}
      {live && <span className="caret" aria-hidden="true" />}
    </div>
  );
}

const OnePart = memo(function OnePart({ part, last }: { part: Part; last: boolean }) {
  if ("text" in part) return <Markdown text={part.text} />;
  if ("reasoning" in part) {
    return (
      <Row icon={<Brain aria-hidden="true" />} label={last ? "Reasoning" : "Thought"}>
        <div className="words">{part.reasoning}</div>
      </Row>
    );
  }
  if ("steered" in part) {
    return (
      <div className="steered">
        <div className="who">
          <b>You</b> steered the agent here
        </div>
        <Said message={part.steered.message} />
      </div>
    );
  }
  if ("marker" in part) return <MarkerLine marker={part.marker} />;
  const { tool, arguments: given, state, result } = part.call;
  const verb = {
    incomplete: "Was going to run",
    running: "Running",
    may_have_run: "Was running",
    finished: "Ran",
    failed: "Ran",
  }[state];
  return (
    <Row
      icon={<Terminal aria-hidden="true" />}
      label={verb}
      code={tool}
      note={
        state === "failed" ? (
          <span className="bad">failed</span>
        ) : state === "running" ? (
          <i className="spin" />
        ) : null
      }
    >
      <pre tabIndex={0}>{given}</pre>
      {result != null && <pre tabIndex={0}>{result}</pre>}
    </Row>
  );
});

interface RowProps {
  icon: React.ReactNode;
  label: string;
  code?: string;
  note?: React.ReactNode;
  children: React.ReactNode;
}

function Row({ icon, label, code, note, children }: RowProps) {
  const [open, setOpen] = useState(false);
  return (
    <div className="trace">
      <button type="button" className="row" aria-expanded={open} onClick={() => setOpen(!open)}>
        <ChevronRight className="chev" aria-hidden="true" />
        {icon}
        {label}
        {code !== undefined && <span className="mono clip">{code}</span>}
        {note != null && <span className="r">{note}</span>}
      </button>
      {/* Kept in the page while it is closed: what was shown once never shrinks. */}
      <div className="open" hidden={!open}>
        {children}
      </div>
    </div>
  );
}
