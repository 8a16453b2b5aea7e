// How the server is: its store in words first, then figures of the last minutes. For owners.

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
        {owner ? <Figures /> : <p>{i18n.t("Only owners see how the server is.")}</p>}
      </div>
    </div>
  );
}

/** Whether somebody looks at the page. */
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
      <h2 id="state">{i18n.t("The store")}</h2>
      {storeWords(figures).map(({ words, good }) => (
        <p key={words} className={good ? "good" : "err"}>
          {good ? <Check aria-hidden="true" /> : <TriangleAlert aria-hidden="true" />} {words}
        </p>
      ))}
      <p>
        {lastBackup(figures)} {lastVerify(figures)}
      </p>
      <p>
        <Link href="/settings/data">{i18n.t("Back up, verify, see what takes room")}</Link>
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
      <h2 id="plots">{i18n.t("The last 15 minutes")}</h2>
      <div className="plots">
        <Plot
          title={i18n.t("Answers going on")}
          lines={[line(i18n.t("Answers"), ({ open_runs }) => open_runs)]}
          say={countOf}
        />
        <Plot
          title={i18n.t("How late the server is")}
          lines={[line(i18n.t("Lag"), ({ lag_micros }) => lag_micros)]}
          say={spanWords}
        />
        <Plot
          title={i18n.t("How long the disk takes to keep something")}
          lines={[
            line(i18n.t("Half of the time at most"), ({ sync_p50_micros }) => sync_p50_micros),
            line(i18n.t("99 of 100 times at most"), ({ sync_p99_micros }) => sync_p99_micros),
          ]}
          say={spanWords}
        />
      </div>
    </section>
  );
}

/** A short time: 0.4 ms, 12 ms, 1.5 s. */
export function spanWords(micros: number): string {
  if (micros < 10_000) return `${(micros / 1_000).toFixed(1)} ms`;
  return micros < 1_000_000 ? `${Math.round(micros / 1_000)} ms` : `${(micros / 1_000_000).toFixed(1)} s`;
}

function Facts({ figures }: { figures: ServerFigures }) {
  const { store } = figures;
  const facts: [string, string][] = [
    [i18n.t("Version"), `${figures.version} (${figures.build})`],
    [i18n.t("Running since"), whenLong(figures.started_at)],
    [i18n.t("Node"), figures.node],
    [i18n.t("Kept in"), store.kind === "sqlite" ? "SQLite" : "PostgreSQL"],
    [i18n.t("Answers going on"), countOf(figures.open_runs)],
    [i18n.t("Sessions that are being written"), countOf(figures.writers)],
    [i18n.t("Not packed yet"), spaceOf(store.tail_bytes)],
    ...spaceWords(figures),
  ];
  return (
    <section aria-labelledby="facts">
      <h2 id="facts">{i18n.t("Figures")}</h2>
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
