// Search results, grouped by session. Each excerpt links to its turn.

import { i18n } from "@lingui/core";
import { useEffect, useState } from "react";
import { Link } from "wouter";

import { ask } from "../api/client";
import { why } from "../shell/attempt";
import { countOf, whenOf } from "../shell/words";
import { FilterChoice } from "./Filters";
import { bySession, isNarrowed, NO_FILTERS, searchOf, type Found, type Hit, type Stretch } from "./hits";
import { useMinutes } from "./minutes";

const PAUSE = 100;
const COUNT = 100;
/** Results shown per session before "more". */
const PLACES = 3;

interface Answer {
  words: string;
  narrowed: boolean;
  found: Found[];
  /** Whether more results may exist. */
  more: boolean;
}

/** Returns the results of the newest query. Ignores responses to older ones. */
function useAnswer(words: string, filters: typeof NO_FILTERS) {
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let asked = true;
    const timer = setTimeout(() => {
      ask<{ hits: Hit[]; next?: string | null }>(
        "GET",
        `/search?${searchOf(words, filters, COUNT, Date.now())}`,
      )
        .then(({ hits, next }) => {
          if (!asked) return;
          setProblem(undefined);
          setAnswer({
            words,
            narrowed: isNarrowed(filters),
            found: bySession(hits),
            more: next != null,
          });
        })
        .catch(
          (error: unknown) =>
            asked && setProblem(why(error, i18n.t("Couldn't search: the server is unreachable."))),
        );
    }, PAUSE);
    return () => {
      asked = false;
      clearTimeout(timer);
    };
  }, [words, filters]);
  return { answer, problem };
}

export default function Results({ words }: { words: string }) {
  const [filters, setFilters] = useState(NO_FILTERS);
  const { answer, problem } = useAnswer(words, filters);
  const now = useMinutes();
  return (
    <div className="list results">
      <FilterChoice filters={filters} choose={setFilters} />
      {problem !== undefined && (
        <p className="none" role="alert">
          {problem}
        </p>
      )}
      {answer === undefined && problem === undefined && <p className="dim none">{i18n.t("Searching…")}</p>}
      {answer?.found.length === 0 && <p className="dim none">{nothingWords(answer)}</p>}
      {answer?.found.map((found) => (
        <OneSession key={found.session} found={found} now={now} />
      ))}
      {answer?.more === true && (
        <p className="dim none">
          {i18n.t("Showing the {count} newest results. Add words to narrow the search.", { count: COUNT })}
        </p>
      )}
    </div>
  );
}

function nothingWords({ words, narrowed }: Answer): string {
  return narrowed
    ? i18n.t("No results for “{words}” with these filters.", { words })
    : i18n.t("No results for “{words}”, including archived sessions.", { words });
}

function OneSession({ found, now }: { found: Found; now: number }) {
  const { session, title, titleHit, turns, archived, trashed } = found;
  const [all, setAll] = useState(false);
  const shown = all ? turns : turns.slice(0, PLACES);
  const first = turns[0];
  return (
    <section className="found">
      <Link href={placeOf(session, titleHit === undefined ? first : undefined)} className="sess">
        <span />
        <span className="t" dir="auto">
          {titleHit === undefined ? (title ?? i18n.t("New session")) : <Marked excerpt={titleHit} />}
        </span>
        {turns.length > 0 && <span className="w num">{countOf(turns.length)}</span>}
        {trashed ? (
          <span className="m">{i18n.t("In the trash")}</span>
        ) : (
          archived && <span className="m">{i18n.t("Archived")}</span>
        )}
      </Link>
      {shown.map((hit) => (
        <Link key={`${hit.turn} ${hit.run}`} href={placeOf(session, hit)} className="hit">
          <span className="who">
            {hit.run == null ? i18n.t("You") : i18n.t("Agent")}{" "}
            {hit.at != null && <span>{whenOf(hit.at, now)}</span>}
          </span>
          <span className="text" dir="auto">
            <Marked excerpt={hit.excerpt} />
          </span>
        </Link>
      ))}
      {turns.length > shown.length && (
        <button type="button" className="btn sm ghost" onClick={() => setAll(true)}>
          {i18n.t("{count} more in this session", { count: turns.length - shown.length })}
        </button>
      )}
    </section>
  );
}

function placeOf(session: string, hit: Hit | undefined): string {
  return hit === undefined ? `/s/${session}` : `/s/${session}?turn=${hit.turn}`;
}

function Marked({ excerpt }: { excerpt: readonly Stretch[] }) {
  return excerpt.map(({ text, hit }, at) =>
    hit ? <mark key={at}>{text}</mark> : <span key={at}>{text}</span>,
  );
}
