import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";
import type { ReactNode } from "react";

import { ask } from "../api/client";
import type { Marker } from "../log/types";
import { attempt } from "../shell/attempt";
import { clockOf, newerWords } from "../shell/words";
import { toComposer } from "../shell/regions";
import { continueAnswer, useContinuing } from "./continue";
import { useOther } from "./device";
import { endOf, isForMessage, stoppedWords, withoutContinue } from "./ends";

interface Props {
  marker: Marker;
  /** None on a shared page, where readers can do nothing and are not the owner. */
  session?: string;
  newest?: boolean;
  /** Whether a run of the turn is open; its answer may not be the one that is shown. */
  live?: boolean;
  /** Whether it was interrupted again and again without new output. */
  stuck?: boolean;
}

/** The row below an incomplete answer: why it ended, what is saved, and the available actions. */
export function MarkerLine({ marker, session, newest = false, live = false, stuck = false }: Props) {
  const can = session !== undefined && newest && !live && marker.kind !== "recovering";
  const continuing = useContinuing(session, marker.run);
  return (
    <div className={marker.kind === "recovering" ? "mk rec" : "mk"} data-marker={marker.kind}>
      <Words marker={marker} stuck={stuck} shared={session === undefined} can={can} />
      {can && (
        <span className="do">
          <button
            type="button"
            className="btn sm"
            disabled={continuing}
            onClick={() => {
              toComposer();
              void continueAnswer(session);
            }}
          >
            {i18n.t("Continue")}
          </button>
          <button
            type="button"
            className="btn sm ghost"
            onClick={() => {
              toComposer();
              void attempt(
                i18n.t("Couldn't retry: the server is unreachable."),
                ask("POST", `/sessions/${session}/retry`),
              );
            }}
          >
            {i18n.t("Retry")}
          </button>
        </span>
      )}
    </div>
  );
}

function StoppedBy({ device, time }: { device: string | null | undefined; time: string }) {
  const other = useOther(device);
  return other === undefined ? (
    <span>
      <Trans
        id="<0>Stopped by you</0> at {time}. Everything above is kept."
        components={{ 0: <b /> }}
        values={{ time }}
      />
    </span>
  ) : (
    <span>
      <Trans
        id="<0>Stopped on {other}</0> at {time}. Everything above is kept."
        components={{ 0: <b /> }}
        // Passed as an element, because tags in a plain text value would be interpreted.
        values={{ other: <>{other}</>, time }}
      />
    </span>
  );
}

interface WordsProps {
  marker: Marker;
  stuck: boolean;
  shared: boolean;
  /** Whether the answer can be continued. */
  can: boolean;
}

function Words({ marker, stuck, shared, can }: WordsProps) {
  switch (marker.kind) {
    case "stopped":
      if (shared)
        return (
          <span>
            <b>{stoppedWords(marker)}</b> {i18n.t("Everything above is kept.")}
          </span>
        );
      return isForMessage(marker) ? (
        <Ended marker={marker}>{i18n.t("Everything above is kept.")}</Ended>
      ) : (
        <StoppedBy device={marker.device} time={clockOf(marker.at)} />
      );
    case "recovering":
      return <Ended marker={marker}>{i18n.t("Recovering output…")}</Ended>;
    case "recovered":
      return stuck ? <Stuck /> : <Ended marker={marker}>{i18n.t("The output was recovered.")}</Ended>;
    case "interrupted":
      return stuck ? <Stuck /> : <Ended marker={marker}>{i18n.t("All recovered output is above.")}</Ended>;
    case "output_limit":
      return <Ended marker={marker} />;
    case "failed":
      return (
        <span className="err">
          {shared ? (
            <b>{i18n.t("The answer couldn't be finished.")}</b>
          ) : (
            <Trans
              id="<0>The answer couldn't be finished.</0> Your message is saved."
              components={{ 0: <b /> }}
            />
          )}{" "}
          {can ? marker.text : withoutContinue(marker.text)}
        </span>
      );
    default:
      return (
        <Ended marker={marker}>
          {i18n.t("Everything above is kept.")} {newerWords()}
        </Ended>
      );
  }
}

/** Why it ended, then what is safe. */
function Ended({ marker, children }: { marker: Marker; children?: ReactNode }) {
  return (
    <span>
      <b>{endOf(marker)}</b>
      {children !== undefined && <> {children}</>}
    </span>
  );
}

function Stuck() {
  return (
    <span>
      <Trans
        id="<0>Interrupted three times without new output.</0> It won't resume automatically."
        components={{ 0: <b /> }}
      />
    </span>
  );
}
