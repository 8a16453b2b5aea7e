// Storage use, the retention of the trash, backups, verification and export.

import { i18n } from "@lingui/core";
import { useEffect, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import type { ServerFigures } from "../server/figures";
import { lastBackup, lastVerify, spaceWords } from "../server/stateWords";
import { Loaded, useAsked } from "../shell/asked";
import { whenLong } from "../shell/days";
import { Problem, useDoing } from "../shell/doing";
import { exactTextIn } from "../shell/form";
import { Fixed, type ServerSettings } from "./ConversationPage";

type Task = Schemas["Task"];

export function Data() {
  const server = useAsked<ServerFigures>("/server");
  return (
    <>
      <section>
        <h3>{i18n.t("Storage")}</h3>
        <Loaded asked={server}>
          {(figures) => (
            <dl className="facts">
              {spaceWords(figures).map(([name, value]) => (
                <div key={name}>
                  <dt>{name}</dt>
                  <dd className="num">{value}</dd>
                </div>
              ))}
            </dl>
          )}
        </Loaded>
      </section>
      <Retention />
      <Copies server={server.value} reread={server.again} />
      <section>
        <h3>{i18n.t("Export")}</h3>
        <p className="dim">
          {i18n.t("Download all your sessions as files you can read without this server.")}
        </p>
        <a className="btn" href="/api/v1/export" download>
          {i18n.t("Export all sessions")}
        </a>
      </section>
    </>
  );
}

function Retention() {
  const asked = useAsked<ServerSettings>("/settings");
  const doing = useDoing();
  const keep = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const trash_days = Number(new FormData(event.currentTarget).get("trash_days"));
    void doing.run(i18n.t("Couldn't save: the server is unreachable."), async () => {
      await ask("PATCH", "/settings", { body: { trash_days } });
      await asked.again();
    });
  };
  return (
    <section>
      <h3>{i18n.t("Trash")}</h3>
      <Loaded asked={asked}>
        {({ trash_days, set_in_environment }) => (
          <>
            <p>
              {trash_days === 0
                ? i18n.t("Sessions stay in the trash until you delete them permanently.")
                : i18n.t(
                    "{days, plural, one {Sessions in the trash are deleted permanently after # day.} other {Sessions in the trash are deleted permanently after # days.}}",
                    { days: trash_days },
                  )}
            </p>
            {set_in_environment.includes("trash_days") ? (
              <Fixed />
            ) : (
              <form className="form line" key={trash_days} onSubmit={keep}>
                <label>
                  {i18n.t("Delete after this many days (0 = never)")}
                  <input name="trash_days" type="number" min="0" required defaultValue={trash_days} />
                </label>
                <button className="btn" disabled={doing.busy}>
                  {i18n.t("Save")}
                </button>
              </form>
            )}
          </>
        )}
      </Loaded>
      <Problem of={doing} />
    </section>
  );
}

const LOOK_EVERY = 1_000;

function Copies({ server, reread }: { server: ServerFigures | undefined; reread: () => Promise<void> }) {
  const asked = useAsked<{ tasks: Task[] }>("/server/tasks");
  const doing = useDoing();
  const running = asked.value?.tasks.some(({ state }) => state === "running") === true;
  const over = asked.value?.tasks.filter(({ state }) => state !== "running").length ?? 0;
  const { again } = asked;
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => void again(), LOOK_EVERY);
    return () => clearInterval(timer);
  }, [running, again]);
  // Also reads again for a job that ended before it was seen running.
  useEffect(() => {
    if (over > 0) void reread();
  }, [over, reread]);
  const begin = (path: string, body: object) =>
    doing.run(i18n.t("Couldn't start the job: the server is unreachable."), async () => {
      await ask("POST", path, { body });
      await again();
    });
  const backUp = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void begin("/server/backup", { place: exactTextIn(new FormData(event.currentTarget), "place") });
  };
  const busy = doing.busy || running;
  return (
    <section>
      <h3>{i18n.t("Backups")}</h3>
      {server !== undefined && (
        <p>
          {lastBackup(server)} {lastVerify(server)}
        </p>
      )}
      <form className="form line" onSubmit={backUp}>
        <label>
          {i18n.t("Folder on the server")}
          <input name="place" required autoComplete="off" placeholder="/var/backups/everturn" />
        </label>
        <button className="btn" disabled={busy}>
          {i18n.t("Back up now")}
        </button>
      </form>
      <div className="do">
        <button
          type="button"
          className="btn"
          disabled={busy}
          onClick={() => void begin("/server/verify", {})}
        >
          {i18n.t("Verify now")}
        </button>
      </div>
      <Problem of={doing} />
      <Loaded asked={asked}>
        {({ tasks }) => (
          <ul className="rows" aria-label={i18n.t("Recent jobs")}>
            {tasks.map((task) => (
              <li key={task.task} className="row-in" data-state={task.state}>
                <div className="what">
                  <b>{task.kind === "backup" ? i18n.t("Backup") : i18n.t("Verification")}</b>
                  <p className="dim">{stateWords(task)}</p>
                  <p className={task.state === "failed" ? "err" : undefined}>{task.told}</p>
                  {task.state === "running" && <progress aria-label={i18n.t("Job in progress")} />}
                </div>
              </li>
            ))}
          </ul>
        )}
      </Loaded>
    </section>
  );
}

function stateWords({ state, begun_at }: Task): string {
  const when = whenLong(begun_at);
  if (state === "running") return i18n.t("Running since {when}", { when });
  return state === "done"
    ? i18n.t("Done, started {when}", { when })
    : i18n.t("Failed, started {when}", { when });
}
