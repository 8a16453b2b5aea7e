import { i18n } from "@lingui/core";
import { useEffect, useState } from "react";

import { insist } from "../api/client";
import { useCommands } from "../commands/registry";
import { attempt } from "../shell/attempt";

/** Shows "Stopping…" until the log contains the end of the run. */
export function Stop({ session, run, away }: { session: string; run: number | null; away: boolean }) {
  const [asked, setAsked] = useState<number | null>(null);
  const [again, setAgain] = useState(false);
  const stopping = run !== null && asked === run;
  const stop = async () => {
    if (run === null || away) return;
    setAsked(run);
    const stopped = insist("POST", `/sessions/${session}/stop`, { body: { run } });
    stopped.catch(() => setAsked(null));
    await attempt(i18n.t("Couldn't stop the answer: the server is unreachable."), stopped);
  };
  useCommands([
    {
      id: "session.stop",
      group: "session",
      title: () => i18n.t("Stop"),
      keys: "Mod+.",
      when: () => run !== null && !away && !stopping,
      run: () => void stop(),
    },
    {
      id: "session.stop.twice",
      group: "session",
      title: () => i18n.t("Stop (press twice)"),
      keys: "Escape",
      run: () => undefined,
      onlyKeys: true,
      local: true,
    },
  ]);
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      // Anything else that Escape closes takes precedence.
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (again) void stop();
      else setAgain(true);
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  useEffect(() => {
    if (!again) return;
    const timer = setTimeout(() => setAgain(false), 1_500);
    return () => clearTimeout(timer);
  }, [again]);
  const why = away ? i18n.t("You can stop the answer when the server is back") : undefined;
  return (
    <>
      {again && !stopping && <span className="dim">{i18n.t("Press Esc again to stop")}</span>}
      <button
        type="button"
        className="stop"
        disabled={away || stopping}
        title={why}
        onClick={() => void stop()}
      >
        <i aria-hidden="true" /> {stopping ? i18n.t("Stopping…") : i18n.t("Stop")}
      </button>
    </>
  );
}
