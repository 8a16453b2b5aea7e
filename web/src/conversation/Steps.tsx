// Reasoning and tools: one quiet family of rows, one row for all of them once the answer has gone on.

import { i18n } from "@lingui/core";
import { Brain, ChevronRight, Terminal } from "lucide-react";
import { memo, useState, type ReactNode } from "react";

import type { Interruption } from "../log/types";
import { CopyButton } from "../markdown/Code";
import { useRemembered } from "../shell/remembered";
import { Cuts } from "./Cuts";
import { failuresOf, gistOf, kindsOf, readable, verbOf, type Call, type Step } from "./trace";

interface Props {
  steps: readonly Step[];
  /** Whether they are one row until they are opened. */
  folded: boolean;
  /** Whether the last of them is what the agent does now. */
  live: boolean;
  /** Where the answer was interrupted among them. */
  cuts: readonly Interruption[];
}

export function Steps({ steps, folded, live, cuts }: Props) {
  const [open, choose] = useRemembered("steps");
  // What a person opened while it was live is not closed when the answer goes on.
  const [reading, setReading] = useState(false);
  const together = folded && steps.length > 1;
  const shown = !together || open || reading;
  const failures = failuresOf(steps);
  const toggle = () => {
    setReading(false);
    choose(!shown);
  };
  return (
    <div className="trace">
      <Cuts of={cuts.map(({ marker }) => marker)} />
      <button type="button" className="row" aria-expanded={shown} hidden={!together} onClick={toggle}>
        <ChevronRight className="chev" aria-hidden="true" />
        <Terminal aria-hidden="true" />
        {i18n.t("{count, plural, one {# step} other {# steps}}", { count: steps.length })}
        <span className="dim clip no-p">{kindsOf(steps)}</span>
        {failures > 0 && (
          <span className="r">
            <span className="bad">{i18n.t("{count} failed", { count: failures })}</span>
          </span>
        )}
      </button>
      {/* Kept in the page while they are closed: what was shown once never shrinks. */}
      <div className="steps" hidden={!shown}>
        {steps.map((step, at) => (
          <OneStep key={at} step={step} live={live && at === steps.length - 1} onOpen={setReading} />
        ))}
      </div>
    </div>
  );
}

interface StepProps {
  step: Step;
  live: boolean;
  /** A person looks at it. */
  onOpen: (reading: true) => void;
}

const OneStep = memo(function OneStep({ step, live, onOpen }: StepProps) {
  return "call" in step ? (
    <CallRow call={step.call} live={live} onOpen={onOpen} />
  ) : (
    <Reasoning text={step.reasoning} live={live} onOpen={onOpen} />
  );
});

function Reasoning({ text, live, onOpen }: { text: string; live: boolean; onOpen: StepProps["onOpen"] }) {
  const [open, choose] = useRemembered("reasoning");
  const toggle = () => {
    choose(!open);
    onOpen(true);
  };
  return (
    <Row
      open={open}
      onToggle={toggle}
      live={live}
      icon={<Brain aria-hidden="true" />}
      label={live ? i18n.t("Reasoning") : i18n.t("Thought")}
    >
      <div className="words" dir="auto">
        {text}
      </div>
    </Row>
  );
}

function CallRow({ call, live, onOpen }: { call: Call; live: boolean; onOpen: StepProps["onOpen"] }) {
  const [open, setOpen] = useState(false);
  const { tool, arguments: given, state, result } = call;
  const toggle = () => {
    setOpen(!open);
    onOpen(true);
  };
  // A draft grows letter by letter; it is made readable when it is whole.
  const whole = state === "incomplete" ? undefined : readable(given);
  const gist = state === "incomplete" ? undefined : gistOf(given);
  const said = { name: i18n.t("Arguments"), label: i18n.t("Arguments of {tool}", { tool }) };
  return (
    <Row
      open={open}
      onToggle={toggle}
      live={state === "running"}
      busy={state === "running"}
      icon={<Terminal aria-hidden="true" />}
      label={verbOf(state, live)}
      code={tool}
      gist={gist}
      note={state === "failed" ? <span className="bad">{i18n.t("failed")}</span> : undefined}
    >
      {/* Kept as it came, also when it is shown in another form: what was shown once never shrinks. */}
      <Output {...said} text={given} hidden={whole !== undefined} />
      {whole !== undefined && whole !== "" && <Output {...said} text={whole} />}
      {result != null && (
        <Output name={i18n.t("Output")} label={i18n.t("Output of {tool}", { tool })} text={result} />
      )}
    </Row>
  );
}

interface OutputProps {
  name: string;
  label: string;
  text: string;
  hidden?: boolean;
}

/** A long one scrolls in its own place, and can be reached by keyboard for that. */
function Output({ name, label, text, hidden = false }: OutputProps) {
  return (
    <div className="output" hidden={hidden}>
      <div className="caption">
        <span className="grow">{name}</span>
        <CopyButton text={text} />
      </div>
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
    </div>
  );
}

interface RowProps {
  open: boolean;
  onToggle: () => void;
  /** Whether it is going on now. */
  live: boolean;
  /** Whether it turns while it does. */
  busy?: boolean;
  icon: ReactNode;
  label: string;
  code?: string;
  gist?: string;
  note?: ReactNode;
  children: ReactNode;
}

function Row({ open, onToggle, live, busy = false, icon, label, code, gist, note, children }: RowProps) {
  return (
    <div>
      <button type="button" className={live ? "row run" : "row"} aria-expanded={open} onClick={onToggle}>
        {busy ? (
          <i className="spin" aria-hidden="true" />
        ) : (
          <ChevronRight className="chev" aria-hidden="true" />
        )}
        {icon}
        {label}
        {code !== undefined && <span className="mono tool clip">{code}</span>}
        {gist !== undefined && <span className="mono dim clip">{gist}</span>}
        {note != null && <span className="r">{note}</span>}
      </button>
      {/* Kept in the page while it is closed: what was shown once never shrinks. */}
      <div className="open" hidden={!open}>
        {children}
      </div>
    </div>
  );
}
