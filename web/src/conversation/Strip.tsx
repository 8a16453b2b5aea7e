import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";
import { Check, Info, WifiOff } from "lucide-react";
import { useEffect, useState } from "react";

import { tryNow } from "../live/store";
import { announce } from "../shell/announce";
import { ui, useUi } from "../shell/ui";
import { useKnown, useSeconds } from "../shell/use";
import { exactClock } from "../shell/words";
import { Offers } from "./Offers";

/** Under the header, never over the text; after two seconds, so that a blink of the network says nothing. */
export function Strip() {
  const link = useKnown(({ link }) => link);
  const away = link.kind === "away";
  const now = useSeconds(away);
  const [back, setBack] = useState<number>();
  const notice = useUi(({ notice }) => notice);
  const missed = link.kind === "open" ? link.missed : undefined;
  useEffect(() => {
    if (missed === undefined || missed.until - missed.since < 2_000) return;
    setBack(missed.until - missed.since);
    announce(i18n.t("Back. Nothing missed."));
    const timer = setTimeout(() => setBack(undefined), 4_000);
    return () => clearTimeout(timer);
  }, [missed]);
  const gone = away ? now - link.since : 0;
  const shown = away && gone >= 2_000;
  useEffect(() => {
    if (shown) announce(i18n.t("Connection lost. Reconnecting."));
  }, [shown]);
  if (shown) {
    return (
      <div className="strip">
        <WifiOff aria-hidden="true" />
        <span className="grow">
          {link.heard === undefined ? (
            <Trans
              id="<0>Can't reach the server.</0> Your sessions appear when it's back."
              components={{ 0: <b /> }}
            />
          ) : (
            <Trans
              id="<0>Can't reach the server.</0> Everything up to {time} is here; the rest appears when it's back."
              values={{ time: exactClock(link.heard) }}
              components={{ 0: <b /> }}
            />
          )}
        </span>
        <button type="button" className="btn sm ghost" onClick={tryNow}>
          {i18n.t("Try now")}
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
          {i18n.t("Close")}
        </button>
      </div>
    );
  }
  if (back === undefined || away) return <Offers />;
  return (
    <div className="strip ok">
      <Check aria-hidden="true" />
      <span>
        <Trans
          id="{count, plural, one {<0>Back.</0> Caught up on # second, nothing missed.} other {<0>Back.</0> Caught up on # seconds, nothing missed.}}"
          values={{ count: Math.round(back / 1_000) }}
          components={{ 0: <b /> }}
        />
      </span>
    </div>
  );
}
