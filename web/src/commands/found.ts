// What the server finds for typed words: sessions by title, and turns by what was said in them.

import { useEffect, useState } from "react";

import { ask, type Schemas } from "../api/client";

const PAUSE = 150;
const COUNT = 20;
const SHOWN = 8;

type Hit = Schemas["FoundBody"];

export interface Found {
  session: string;
  title: string | null | undefined;
  /** The newest turn with the words; none when the title has them. */
  turn: number | null;
  excerpt: string | undefined;
}

/** Each session once, by its best hit. */
export function bySession(hits: readonly Hit[]): Found[] {
  const sessions = new Map<string, Found>();
  for (const { session, title, turn = null, excerpt } of hits) {
    if (sessions.has(session)) continue;
    sessions.set(session, { session, title, turn, excerpt: excerpt?.map(({ text }) => text).join("") });
  }
  return [...sessions.values()].slice(0, SHOWN);
}

const NOTHING: readonly Found[] = [];

export function useFound(words: string): readonly Found[] {
  const [found, setFound] = useState(NOTHING);
  useEffect(() => {
    if (words.length < 2) return setFound(NOTHING);
    let left = false;
    const timer = setTimeout(() => {
      ask<{ hits: Hit[] }>("GET", `/search?words=${encodeURIComponent(words)}&count=${COUNT}`)
        .then(({ hits }) => left || setFound(bySession(hits)))
        // Without the server there is what this page knows.
        .catch(() => left || setFound(NOTHING));
    }, PAUSE);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [words]);
  return found;
}
