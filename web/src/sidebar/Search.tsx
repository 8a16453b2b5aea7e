// Finds messages and answers in every session; what is archived too.

import { Search as Glass, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";

import { ask } from "../api/client";
import { useKnown } from "../shell/use";

const PAUSE = 150;
const COUNT = 100;

interface Hit {
  session: string;
  turn: number;
}

interface Found {
  session: string;
  title: string | null;
  /** Turns with all the words, newest first. */
  turns: number[];
}

/** Hits by session, in the order in which the newest of each came. */
function bySession(hits: readonly Hit[]): Map<string, number[]> {
  const sessions = new Map<string, number[]>();
  for (const { session, turn } of hits) {
    const turns = sessions.get(session) ?? [];
    if (!turns.includes(turn)) turns.push(turn);
    sessions.set(session, turns);
  }
  return sessions;
}

async function find(words: string, titles: Map<string, string | null>): Promise<Found[]> {
  const { hits } = await ask<{ hits: Hit[] }>(
    "GET",
    `/search?words=${encodeURIComponent(words)}&count=${COUNT}`,
  );
  const found = [...bySession(hits)].map(async ([session, turns]) => {
    const known = titles.get(session);
    const title =
      known === undefined
        ? (await ask<{ title: string | null }>("GET", `/sessions/${session}`)).title
        : known;
    return { session, title, turns };
  });
  return Promise.all(found);
}

interface Props {
  words: string;
  setWords: (words: string) => void;
}

export function SearchField({ words, setWords }: Props) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const control = event.ctrlKey || event.metaKey;
      const key = event.key.toLowerCase();
      if (!control || !((event.shiftKey && key === "f") || (!event.shiftKey && key === "k"))) return;
      event.preventDefault();
      field.current?.focus();
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  }, []);
  return (
    <div className="search">
      <Glass aria-hidden="true" />
      <input
        ref={field}
        type="search"
        aria-label="Search all sessions"
        placeholder="Search"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== "Escape" || words === "") return;
          event.preventDefault();
          setWords("");
        }}
      />
      {words === "" ? (
        <kbd className="no-p">Ctrl K</kbd>
      ) : (
        <button type="button" className="icon" aria-label="Clear the search" onClick={() => setWords("")}>
          <X aria-hidden="true" />
        </button>
      )}
    </div>
  );
}

export function Results({ words }: { words: string }) {
  const list = useKnown(({ list }) => list);
  const [found, setFound] = useState<{ words: string; sessions: Found[] }>();
  const [problem, setProblem] = useState(false);
  const titles = useRef(new Map<string, string | null>());
  for (const line of list ?? []) titles.current.set(line.session, line.title ?? null);
  useEffect(() => {
    let left = false;
    const timer = setTimeout(() => {
      find(words, titles.current)
        .then((sessions) => {
          if (left) return;
          setProblem(false);
          setFound({ words, sessions });
        })
        .catch(() => left || setProblem(true));
    }, PAUSE);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [words]);
  if (problem) return <p className="dim none">Search works again when the server is back.</p>;
  if (found === undefined) return <p className="dim none">Searching…</p>;
  if (found.sessions.length === 0) {
    return (
      <p className="dim none">Nothing found for “{found.words}”. Archived sessions were searched too.</p>
    );
  }
  return found.sessions.map(({ session, title, turns }) => (
    <Link key={session} href={`/s/${session}?turn=${turns[0]}`} className="sess">
      <span />
      <span className="t">{title ?? "New session"}</span>
      <span className="w num">{turns.length}</span>
    </Link>
  ));
}
