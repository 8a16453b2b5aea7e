// The timeline of a session: its log entries as sentences, newest first.

import { i18n } from "@lingui/core";
import { ArrowLeft } from "lucide-react";
import { useCallback, useEffect, useMemo, useState } from "react";
import { Link } from "wouter";

import { ask } from "../api/client";
import { dayOf, secondOf } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";
import { byDay, linesOf, type Filter, type Line, type Logged } from "./lines";
import "../styles/settings.css";

const PAGE = 100;

interface LogPage {
  entries: Logged[];
  next: number | null;
}

export default function Timeline({ session }: { session: string }) {
  const title = useKnown(({ list }) => list?.find((line) => line.session === session)?.title);
  const doing = useDoing();
  const [entries, setEntries] = useState<Logged[]>();
  const [next, setNext] = useState<number | null>(null);
  const [filter, setFilter] = useState<Filter>("all");
  const { run } = doing;
  const read = useCallback(
    (before: number | null) =>
      run(i18n.t("Couldn't load this: the server is unreachable."), async () => {
        const from = before === null ? "" : `&before=${before}`;
        const page = await ask<LogPage>("GET", `/sessions/${session}/log?count=${PAGE}${from}`);
        setEntries((entries) => (before === null ? page.entries : [...(entries ?? []), ...page.entries]));
        setNext(page.next);
      }),
    [run, session],
  );
  useEffect(() => void read(null), [read]);
  const days = useMemo(() => byDay(linesOf(entries ?? [], filter), dayOf), [entries, filter]);
  const filters: [Filter, string][] = [
    ["all", i18n.t("All")],
    ["people", i18n.t("User actions")],
    ["trouble", i18n.t("Problems")],
  ];
  return (
    <div className="settings timeline">
      <header className="head">
        <Link href={`/s/${session}`} className="icon" aria-label={i18n.t("Back to session")}>
          <ArrowLeft aria-hidden="true" />
        </Link>
        <h1 className="grow clip">
          {i18n.t("Timeline of {title}", { title: title ?? i18n.t("this session") })}
        </h1>
        <button type="button" className="btn" disabled={doing.busy} onClick={() => void read(null)}>
          {i18n.t("Refresh")}
        </button>
      </header>
      <div className="subject">
        <div className="kinds" role="radiogroup" aria-label={i18n.t("Filter events")}>
          {filters.map(([value, name]) => (
            <label key={value} className="badge">
              <input
                type="radio"
                name="filter"
                checked={filter === value}
                onChange={() => setFilter(value)}
              />
              {name}
            </label>
          ))}
        </div>
        {entries === undefined && doing.busy && <p className="dim">{i18n.t("Loading…")}</p>}
        {entries !== undefined && days.length === 0 && (
          <p className="dim">
            {next === null
              ? i18n.t("No events of this type.")
              : i18n.t("No events of this type so far. Show earlier events to look further back.")}
          </p>
        )}
        {days.map(([day, lines]) => (
          <section key={`${day} ${lines[0]?.key}`}>
            <h2>{day}</h2>
            <ol className="log">
              {lines.map((line) => (
                <Entry key={line.key} line={line} />
              ))}
            </ol>
          </section>
        ))}
        <Problem of={doing} />
        {next !== null && (
          <button type="button" className="btn" disabled={doing.busy} onClick={() => void read(next)}>
            {i18n.t("Show earlier")}
          </button>
        )}
      </div>
    </div>
  );
}

function Entry({ line }: { line: Line }) {
  return (
    <li data-about={line.about}>
      <time className="dim num">{secondOf(line.time)}</time>
      <div>
        <p>
          {line.words}
          {line.device !== undefined && (
            <span className="dim"> {i18n.t("From {device}.", { device: line.device })}</span>
          )}
        </p>
        {line.quote !== undefined && (
          <blockquote className="words" dir="auto">
            {line.quote}
          </blockquote>
        )}
      </div>
    </li>
  );
}
