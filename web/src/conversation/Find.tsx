// Finds text in the rendered turns of this session.

import { i18n } from "@lingui/core";
import { ChevronDown, ChevronUp, X } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";

import type { TurnView } from "../log/types";
import { ui } from "../shell/ui";
import type { Earlier } from "./earlier";
import { useMarks } from "./marks";
import { folded } from "./matches";
import { foldedWords } from "./rendered";

interface Props {
  session: string;
  turns: readonly TurnView[];
  earlier: Earlier;
  close: () => void;
}

export function Find({ session, turns, earlier, close }: Props) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const words = folded(typed.trim());
  const hits = useMemo(() => {
    if (words === "") return [];
    const all = [...earlier.turns, ...turns];
    return all.filter((turn) => foldedWords(turn).includes(words)).map(({ turn }) => turn);
  }, [words, turns, earlier.turns]);
  useMarks(words);
  // Shows the first match once earlier turns are loaded.
  const [jumps, setJumps] = useState(false);
  useEffect(() => {
    if (!jumps || earlier.missing > 0) return;
    setJumps(false);
    const [first] = hits;
    if (first !== undefined) ui.setState({ reveal: { session, turn: first } });
  }, [jumps, hits, earlier.missing, session]);
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
        dir="auto"
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
            ? i18n.t("No results")
            : i18n.t("{at} of {count}", { at: Math.min(at, hits.length - 1) + 1, count: hits.length })}
      </span>
      {earlier.missing > 0 && (
        <button
          type="button"
          className="btn sm ghost"
          onClick={() => {
            void earlier.loadAll().then(() => setJumps(true));
            // The button goes when they are here.
            field.current?.focus();
          }}
          disabled={earlier.coming !== undefined}
        >
          {earlier.coming === undefined
            ? i18n.t("{count, plural, one {Search # earlier turn} other {Search # earlier turns}}", {
                count: earlier.missing,
              })
            : i18n.t("Loading earlier turns…")}
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
