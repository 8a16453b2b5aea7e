// Finds words in the turns of this session. They are marked without touching the page's nodes.

import { i18n } from "@lingui/core";
import { ChevronDown, ChevronUp, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";

import { proseOf } from "../log/prose";
import type { TurnView } from "../log/types";
import { ui } from "../shell/ui";
import type { Earlier } from "./earlier";

interface Props {
  session: string;
  turns: readonly TurnView[];
  earlier: Earlier;
  close: () => void;
}

function textOf(turn: TurnView): string {
  return `${turn.message.text}\n${proseOf(turn)}`.toLowerCase();
}

/** Every place on the page that says the words. */
function ranges(words: string): Range[] {
  const found: Range[] = [];
  for (const node of document.querySelectorAll("article[data-turn] .words, article[data-turn] .prose")) {
    const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
    while (walker.nextNode() !== null) {
      const text = (walker.currentNode.textContent ?? "").toLowerCase();
      for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + words.length)) {
        const range = document.createRange();
        range.setStart(walker.currentNode, at);
        range.setEnd(walker.currentNode, at + words.length);
        found.push(range);
      }
    }
  }
  return found;
}

/** Marks the words wherever they are in sight, for as long as they are looked for. */
function useMarks(words: string): void {
  useEffect(() => {
    if (words === "" || !("highlights" in CSS)) return;
    let frame = 0;
    const mark = () => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(() => CSS.highlights.set("found", new Highlight(...ranges(words))));
    };
    mark();
    document.addEventListener("scroll", mark, { capture: true, passive: true });
    return () => {
      document.removeEventListener("scroll", mark, { capture: true });
      cancelAnimationFrame(frame);
      CSS.highlights.delete("found");
    };
  }, [words]);
}

export function Find({ session, turns, earlier, close }: Props) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const words = typed.trim().toLowerCase();
  const hits = useMemo(() => {
    if (words === "") return [];
    const all = [...earlier.turns, ...turns];
    return all.filter((turn) => textOf(turn).includes(words)).map(({ turn }) => turn);
  }, [words, turns, earlier.turns]);
  useMarks(words);
  const show = (place: number) => {
    if (hits.length === 0) return;
    const next = (place + hits.length) % hits.length;
    const turn = hits[next];
    setAt(next);
    if (turn !== undefined) ui.setState({ reveal: { session, turn } });
  };
  return (
    <div
      className="find"
      role="search"
      aria-label={i18n.t("Find in this session")}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.preventDefault();
        close();
      }}
    >
      <input
        ref={field}
        type="text"
        aria-label={i18n.t("Find in this session")}
        placeholder={i18n.t("Find in this session")}
        value={typed}
        autoFocus
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          show(event.shiftKey ? at - 1 : at + 1);
        }}
      />
      <span className="dim num" role="status">
        {words === ""
          ? ""
          : hits.length === 0
            ? i18n.t("Nothing found")
            : i18n.t("{at} of {count}", { at: Math.min(at, hits.length - 1) + 1, count: hits.length })}
      </span>
      {earlier.missing > 0 && (
        <button
          type="button"
          className="btn sm ghost"
          onClick={() => {
            earlier.loadAll();
            // The button goes when they are here.
            field.current?.focus();
          }}
          disabled={earlier.coming !== undefined}
        >
          {earlier.coming === undefined
            ? i18n.t("{count, plural, one {Also in # earlier turn} other {Also in # earlier turns}}", {
                count: earlier.missing,
              })
            : i18n.t("Reading earlier turns…")}
        </button>
      )}
      <button type="button" className="icon" aria-label={i18n.t("Previous")} onClick={() => show(at - 1)}>
        <ChevronUp aria-hidden="true" />
      </button>
      <button type="button" className="icon" aria-label={i18n.t("Next")} onClick={() => show(at + 1)}>
        <ChevronDown aria-hidden="true" />
      </button>
      <button type="button" className="icon" aria-label={i18n.t("Close")} onClick={close}>
        <X aria-hidden="true" />
      </button>
    </div>
  );
}
