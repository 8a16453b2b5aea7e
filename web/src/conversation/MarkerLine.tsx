import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";

import { ask } from "../api/client";
import type { Marker } from "../log/types";
import { attempt } from "../shell/attempt";
import { clockOf } from "../shell/words";
import { useOther } from "./device";

interface Props {
  marker: Marker;
  /** Given where the turn can go on from it. */
  session?: string;
  newest?: boolean;
  /** Whether the answer goes on below it. */
  wentOn?: boolean;
}

/** Why an answer is not complete: what is kept first, then what happened, then what can be done. */
export function MarkerLine({ marker, session, newest = false, wentOn = false }: Props) {
  const can = session !== undefined && newest && marker.kind !== "recovering";
  return (
    <div className={marker.kind === "recovering" ? "mk rec" : "mk"} data-marker={marker.kind}>
      <Words marker={marker} wentOn={wentOn} />
      {can && (
        <span className="do">
          <button
            type="button"
            className="btn sm"
            onClick={() =>
              void attempt(
                i18n.t("Couldn't continue: the server is unreachable."),
                ask("POST", `/sessions/${session}/continue`),
              )
            }
          >
            {i18n.t("Continue")}
          </button>
          <button
            type="button"
            className="btn sm ghost"
            onClick={() =>
              void attempt(
                i18n.t("Couldn't retry: the server is unreachable."),
                ask("POST", `/sessions/${session}/retry`),
              )
            }
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
        // As an element: a text among the values is searched for tags like those of the message.
        values={{ other: <>{other}</>, time }}
      />
    </span>
  );
}

function Words({ marker, wentOn }: { marker: Marker; wentOn: boolean }) {
  const values = { time: clockOf(marker.at) };
  const components = { 0: <b /> };
  switch (marker.kind) {
    case "stopped":
      return marker.text.includes("next message") ? (
        <span>
          <Trans
            id="<0>Stopped for your next message.</0> Everything above is kept."
            components={components}
          />
        </span>
      ) : (
        <StoppedBy device={marker.device} time={values.time} />
      );
    case "recovering":
      return (
        <span>
          <Trans
            id="<0>Interrupted — recovering output…</0> The server restarted at {time}."
            values={values}
            components={components}
          />
        </span>
      );
    case "recovered":
      return (
        <span>
          <Trans
            id="<0>Recovered from the journal.</0> The server was away at {time}."
            values={values}
            components={components}
          />
        </span>
      );
    case "failed":
      return (
        <span className="err">
          <Trans
            id="<0>The answer could not be finished.</0> Your message is saved."
            components={components}
          />{" "}
          {marker.text}
        </span>
      );
    default:
      if (wentOn) {
        return (
          <span>
            <Trans
              id="<0>Interrupted</0> at {time} by a server restart, and went on here. Everything above is kept."
              values={values}
              components={components}
            />
          </span>
        );
      }
      return (
        <span>
          <Trans
            id="<0>Interrupted</0> at {time} by a server restart. Everything that could be read is above."
            values={values}
            components={components}
          />
        </span>
      );
  }
}
