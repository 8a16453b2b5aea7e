// The server status for owners: problems first, then recent metrics and details.

import { i18n } from "@lingui/core";
import { ArrowLeft, Check, TriangleAlert } from "lucide-react";
import { useEffect, useState } from "react";
import { Link } from "wouter";

import { useAsked, Loaded } from "../shell/asked";
import { spaceOf, whenLong } from "../shell/days";
import { useKnown } from "../shell/use";
import { countOf } from "../shell/words";
import { Plot } from "./Plot";
import type { Sample, ServerFigures } from "./figures";
import { lastBackup, lastVerify, spaceWords, storeWords } from "./stateWords";
import "../styles/settings.css";
import "../styles/plots.css";

const EVERY = 5_000;

export default function ServerPage() {
  const owner = useKnown(({ user }) => user?.role === "owner");
  return (
    <div className="settings server">
      <header className="head">
        <Link href="/settings" className="icon" aria-label={i18n.t("Back to settings")}>
          <ArrowLeft aria-hidden="true" />
        </Link>
        <h1 className="grow">{i18n.t("Server")}</h1>
        {owner && (
          <Link href="/settings/data" className="btn">
            {i18n.t("Data")}
          </Link>
        )}
      </header>
      <div className="subject">
        {owner ? <Figures /> : <p>{i18n.t("Only owners can view the server status.")}</p>}
      </div>
    </div>
  );
}

/** Returns whether the page is visible. */
function useVisible(): boolean {
  const [visible, setVisible] = useState(document.visibilityState === "visible");
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  return visible;
}

function Figures() {
  const asked = useAsked<ServerFigures>("/server");
  const { again } = asked;
  const visible = useVisible();
  useEffect(() => {
    if (!visible) return;
    void again();
    const timer = setInterval(() => void again(), EVERY);
    return () => clearInterval(timer);
  }, [visible, again]);
  return (
    <Loaded asked={asked}>
      {(figures) => (
        <>
          <State figures={figures} />
          <Plots samples={figures.samples} />
          <Facts figures={figures} />
        </>
      )}
    </Loaded>
  );
}

function State({ figures }: { figures: ServerFigures }) {
  return (
    <section aria-labelledby="state">
      <h2 id="state">{i18n.t("Status")}</h2>
      {storeWords(figures).map(({ words, good }) => (
        <p key={words} className={good ? "good" : "err"}>
          {good ? <Check aria-hidden="true" /> : <TriangleAlert aria-hidden="true" />} {words}
        </p>
      ))}
      <p>
        {lastBackup(figures)} {lastVerify(figures)}
      </p>
      <p>
        <Link href="/settings/data">{i18n.t("Manage backups and storage")}</Link>
      </p>
    </section>
  );
}

function Plots({ samples }: { samples: Sample[] }) {
  const line = (name: string, pick: (sample: Sample) => number) => ({
    name,
    points: samples.map((sample) => ({ at: sample.at, value: pick(sample) })),
  });
  return (
    <section aria-labelledby="plots">
      <h2 id="plots">{i18n.t("Last 15 minutes")}</h2>
      <div className="plots">
        <Plot
          title={i18n.t("Answers in progress")}
          lines={[line(i18n.t("Answers"), ({ open_runs }) => open_runs)]}
          say={countOf}
        />
        <Plot
          title={i18n.t("Session list and search lag")}
          lines={[line(i18n.t("Lag"), ({ lag_micros }) => lag_micros)]}
          say={spanWords}
        />
        <Plot
          title={i18n.t("Commit latency")}
          lines={[
            line(i18n.t("p50"), ({ sync_p50_micros }) => sync_p50_micros),
            line(i18n.t("p99"), ({ sync_p99_micros }) => sync_p99_micros),
          ]}
          say={spanWords}
        />
      </div>
    </section>
  );
}

/** Formats a short duration: 0.4 ms, 12 ms, 1.5 s. */
export function spanWords(micros: number): string {
  if (micros < 10_000) return `${(micros / 1_000).toFixed(1)} ms`;
  return micros < 1_000_000 ? `${Math.round(micros / 1_000)} ms` : `${(micros / 1_000_000).toFixed(1)} s`;
}

function Facts({ figures }: { figures: ServerFigures }) {
  const { store } = figures;
  const facts: [string, string][] = [
    [i18n.t("Version"), `${figures.version} (${figures.build})`],
    [i18n.t("Started"), whenLong(figures.started_at)],
    [i18n.t("Node"), figures.node],
    [i18n.t("Database"), store.kind === "sqlite" ? "SQLite" : "PostgreSQL"],
    [i18n.t("Answers in progress"), countOf(figures.open_runs)],
    [i18n.t("Active sessions"), countOf(figures.writers)],
    [i18n.t("Not yet compacted"), spaceOf(store.tail_bytes)],
    ...spaceWords(figures),
  ];
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">{i18n.t("Details")}</h2>
      <dl className="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="num">{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
