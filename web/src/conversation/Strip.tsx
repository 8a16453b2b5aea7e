import { Check, Info, WifiOff } from "lucide-react";
import { useEffect, useState } from "react";

import { tryNow } from "../live/store";
import { announce } from "../shell/announce";
import { ui, useUi } from "../shell/ui";
import { useKnown, useSeconds } from "../shell/use";
import { exactClock } from "../shell/words";

/** Under the header, never over the text; after two seconds, so that a blink of the network says nothing. */
export function Strip() {
  const link = useKnown(({ link }) => link);
  const heardAt = useKnown(({ heardAt }) => heardAt);
  const away = link.kind === "away";
  const now = useSeconds(away);
  const [back, setBack] = useState<number>();
  const notice = useUi(({ notice }) => notice);
  const missed = link.kind === "open" ? link.missed : undefined;
  useEffect(() => {
    if (missed === undefined || missed.until - missed.since < 2_000) return;
    setBack(missed.until - missed.since);
    announce("Back. Nothing missed.");
    const timer = setTimeout(() => setBack(undefined), 4_000);
    return () => clearTimeout(timer);
  }, [missed]);
  const gone = away ? now - link.since : 0;
  const shown = away && gone >= 2_000;
  useEffect(() => {
    if (shown) announce("Connection lost. Reconnecting.");
  }, [shown]);
  if (shown) {
    const minutes = Math.floor(gone / 60_000);
    return (
      <div className="strip">
        <WifiOff aria-hidden="true" />
        <span className="grow">
          <b>{minutes >= 1 ? `Offline for ${minutes} min.` : "Reconnecting."}</b> The agent keeps working on
          the server.{heardAt > 0 && <> You see everything up to {exactClock(heardAt)}.</>}
        </span>
        <button type="button" className="btn sm ghost" onClick={tryNow}>
          Try now
        </button>
      </div>
    );
  }
  if (notice !== undefined) {
    return (
      <div className="strip">
        <Info aria-hidden="true" />
        <span className="grow">{notice}</span>
        <button type="button" className="btn sm ghost" onClick={() => ui.setState({ notice: undefined })}>
          Close
        </button>
      </div>
    );
  }
  if (back === undefined || away) return null;
  return (
    <div className="strip ok">
      <Check aria-hidden="true" />
      <span>
        <b>Back.</b> Caught up on {Math.round(back / 1_000)} seconds, nothing missed.
      </span>
    </div>
  );
}
