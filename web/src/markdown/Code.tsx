// A block of code, with syntax highlighting once it is ready. Highlighting never changes the text.

import { i18n } from "@lingui/core";
import { useEffect, useState, type ReactNode } from "react";

import { copyOrNotify } from "../shell/copy";
import { colour, colours } from "./colours";
import { diffLines } from "./diff";
import { grammarFor, type Run } from "./kinds";

export interface CodeProps {
  language: string;
  text: string;
  /** Whether the fence is closed. Until then the text grows and isn't highlighted. */
  closed: boolean;
}

const DIFFS = new Set(["diff", "patch"]);

export function Code({ language, text, closed }: CodeProps) {
  return (
    <figure className="code">
      <figcaption>
        <span className="grow">{language}</span>
        <CopyButton text={text} />
      </figcaption>
      {/* Focusable, so that the keyboard can scroll it. */}
      <pre
        dir="ltr"
        tabIndex={0}
        role="group"
        aria-label={language === "" ? i18n.t("Code") : i18n.t("Code, {language}", { language })}
      >
        <code>
          {DIFFS.has(language) ? (
            <Diff text={text} />
          ) : (
            <Coloured language={language} text={text} closed={closed} />
          )}
        </code>
      </pre>
    </figure>
  );
}

export function CopyButton({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <button
      type="button"
      className="btn sm ghost"
      onClick={() => void copyOrNotify(text).then(setCopied)}
      onBlur={() => setCopied(false)}
    >
      {copied ? i18n.t("Copied") : i18n.t("Copy")}
    </button>
  );
}

/** The lines of a diff. Signs, elements and a bar mark the changes, so they don't depend on color. */
function Diff({ text }: { text: string }): ReactNode {
  return diffLines(text).map((line, at) => {
    const Line = line.kind === "added" ? "ins" : line.kind === "removed" ? "del" : "span";
    return (
      <Line key={at} className={`line ${line.kind}`}>
        {line.text}
      </Line>
    );
  });
}

function Coloured({ language, text, closed }: CodeProps): ReactNode {
  const grammar = closed ? grammarFor(language, text) : undefined;
  const [read, setRead] = useState<{ text: string; runs: readonly Run[] }>();
  useEffect(() => {
    if (grammar === undefined) return;
    let wanted = true;
    void colour(grammar, text).then((runs) => wanted && setRead({ text, runs }));
    return () => {
      wanted = false;
    };
  }, [grammar, text]);
  if (grammar === undefined) return text;
  const runs = read?.text === text ? read.runs : colours(grammar, text);
  return runs === undefined || runs.length === 0 ? text : drawn(text, runs);
}

function drawn(text: string, runs: readonly Run[]): ReactNode {
  let end = 0;
  return runs.map(([kind, length], at) => {
    const words = text.slice(end, (end += length));
    return kind === "" ? (
      words
    ) : (
      <span key={at} className={kind}>
        {words}
      </span>
    );
  });
}
