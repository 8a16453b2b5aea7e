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
            onClick={() => void attempt("continued", ask("POST", `/sessions/${session}/continue`))}
          >
            Continue
          </button>
          <button
            type="button"
            className="btn sm ghost"
            onClick={() => void attempt("tried again", ask("POST", `/sessions/${session}/retry`))}
          >
            Retry
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
        values={{ other, time }}
      />
    </span>
  );
}

function Words({ marker, wentOn }: { marker: Marker; wentOn: boolean }) {
  const at = clockOf(marker.at);
  switch (marker.kind) {
    case "stopped":
      return marker.text.includes("next message") ? (
        <span>
          <b>Stopped for your next message.</b> Everything above is kept.
        </span>
      ) : (
        <StoppedBy device={marker.device} time={at} />
      );
    case "recovering":
      return (
        <span>
          <b>Interrupted — recovering output…</b> The server restarted at {at}.
        </span>
      );
    case "recovered":
      return (
        <span>
          <b>Recovered from the journal.</b> The server was away at {at}.
        </span>
      );
    case "failed":
      return (
        <span className="err">
          <b>The answer could not be finished.</b> Your message is saved. {marker.text}
        </span>
      );
    default:
      if (wentOn) {
        return (
          <span>
            <b>Interrupted</b> at {at} by a server restart, and went on here. Everything above is kept.
          </span>
        );
      }
      return (
        <span>
          <b>Interrupted</b> at {at} by a server restart. Everything that could be read is above.
        </span>
      );
  }
}
