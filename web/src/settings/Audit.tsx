// The audit log: changes to users, access and settings, and who made them.

import { i18n } from "@lingui/core";
import { useCallback, useEffect, useState } from "react";

import { ask, type Schemas } from "../api/client";
import { whenLong } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import type { Person } from "./People";
import { auditWords } from "./auditWords";

export type AuditLine = Schemas["AuditLineBody"];

/** The server's page size. */
const PAGE = 100;

export function Audit({ people }: { people: readonly Person[] }) {
  const doing = useDoing();
  const [lines, setLines] = useState<AuditLine[]>([]);
  const [more, setMore] = useState(false);
  const { run } = doing;
  const read = useCallback(
    (before?: number) =>
      run(i18n.t("Couldn't load this: the server is unreachable."), async () => {
        const path = before === undefined ? "/audit" : `/audit?before=${before}`;
        const page = (await ask<{ lines: AuditLine[] }>("GET", path)).lines;
        setLines((lines) => (before === undefined ? page : [...lines, ...page]));
        setMore(page.length >= PAGE);
      }),
    [run],
  );
  // Reads again when users change, because each change adds a line.
  useEffect(() => void read(), [read, people]);
  const names = new Map(people.map(({ user, name }) => [user, name]));
  return (
    <section>
      <h3>{i18n.t("Audit log")}</h3>
      {lines.length === 0 && !doing.busy && <p className="dim">{i18n.t("No entries.")}</p>}
      <ol className="trail" aria-label={i18n.t("Audit log")}>
        {lines.map((line) => (
          <li key={line.no}>
            <time className="dim num">{whenLong(line.time)}</time> {auditWords(line, names)}
          </li>
        ))}
      </ol>
      <Problem of={doing} />
      {more && (
        <button
          type="button"
          className="btn"
          disabled={doing.busy}
          onClick={() => void read(lines.at(-1)?.no)}
        >
          {i18n.t("Show earlier")}
        </button>
      )}
    </section>
  );
}
