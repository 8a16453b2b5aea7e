// A diagram: its source, and a button that renders it. Rendering needs a lot of code and a frame of its own, so it happens
// on request only.

import { i18n } from "@lingui/core";
import { useEffect, useRef, useState } from "react";

import { COLOURS, told, type Asked } from "../diagram/speech";
import { CopyButton, type CodeProps } from "./Code";

/** The language of diagrams. */
const LANGUAGE = "mermaid";
/** Longer diagrams are not rendered, because they would be unreadable. */
const DRAWN_LETTERS_MAX = 20_000;

type Progress = "source" | "drawing" | "failed" | { height: number };

export function Diagram({ text, closed }: CodeProps) {
  const [progress, setProgress] = useState<Progress>("source");
  const [hidden, setHidden] = useState(false);
  const drawn = typeof progress === "object";
  const framed = drawn || progress === "drawing";
  const shown = drawn && !hidden;
  return (
    <figure className="code">
      <figcaption>
        <span className="grow">{LANGUAGE}</span>
        {progress === "failed" && <span className="bad">{i18n.t("Couldn't render the diagram.")}</span>}
        {drawn ? (
          <button type="button" className="btn sm ghost" onClick={() => setHidden(!hidden)}>
            {hidden ? i18n.t("Show diagram") : i18n.t("Show source")}
          </button>
        ) : (
          closed &&
          progress !== "failed" &&
          text.length <= DRAWN_LETTERS_MAX && (
            <button
              type="button"
              className="btn sm ghost"
              disabled={progress === "drawing"}
              onClick={() => setProgress("drawing")}
            >
              {progress === "drawing" ? i18n.t("Rendering…") : i18n.t("Render diagram")}
            </button>
          )
        )}
        <CopyButton text={text} />
      </figcaption>
      {framed && (
        <Frame text={text} height={drawn ? progress.height : 0} hidden={!shown} onProgress={setProgress} />
      )}
      {/* Stays in the page, hidden, so that no text is removed. */}
      <pre
        dir="ltr"
        tabIndex={0}
        role="group"
        aria-label={i18n.t("Code, {language}", { language: LANGUAGE })}
        hidden={shown}
      >
        <code>{text}</code>
      </pre>
    </figure>
  );
}

interface FrameProps {
  text: string;
  height: number;
  hidden: boolean;
  onProgress: (progress: Progress) => void;
}

/** The frame that renders the diagram. It has no origin, so its window identifies its messages. */
function Frame({ text, height, hidden, onProgress }: FrameProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  useEffect(() => {
    const listen = ({ source, data }: MessageEvent<unknown>) => {
      const window = frame.current?.contentWindow;
      if (window == null || source !== window) return;
      const news = told(data);
      if (news === "listening") window.postMessage(asked(text), "*");
      else if (news === "failed") onProgress("failed");
      else if (news !== undefined) onProgress({ height: news.drawn.height });
    };
    addEventListener("message", listen);
    return () => removeEventListener("message", listen);
  }, [text, onProgress]);
  return (
    <iframe
      ref={frame}
      title={i18n.t("Diagram")}
      className={hidden ? "diagram away" : "diagram"}
      sandbox="allow-scripts"
      src="/diagram.html"
      height={height}
    />
  );
}

function asked(text: string): Asked {
  // A variable has a light and a dark value. Only an element that uses it shows which one applies.
  const probe = document.createElement("span");
  document.body.append(probe);
  const seen = (colour: string) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const colours = Object.fromEntries(
    COLOURS.map((name) => [name, seen(`var(--${name})`)]),
  ) as Asked["colours"];
  const dark = seen("light-dark(white, black)") === "rgb(0, 0, 0)";
  probe.remove();
  return { text, dark, colours };
}
