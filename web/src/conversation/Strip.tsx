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

/** A blink of the network says nothing. */
const BLINK = 2_000;
const BACK_FOR = 4_000;

/**
 * Under the header, never over the text: the connection first, then why a request failed, then what the page offers.
 */
export function Strip() {
  const link = useKnown(({ link }) => link);
  const notice = useUi(({ notice }) => notice !== undefined);
  const back = useBack();
  const now = useSeconds(link.kind === "away");
  const away = link.kind === "away" && now - link.since >= BLINK ? link : undefined;
  return (
    <>
      {away !== undefined && <Away heard={away.heard} />}
      {back !== undefined && <Back away={back} />}
      {notice && <Failed />}
      {away === undefined && back === undefined && !notice && <Offers />}
    </>
  );
}

/** How long the server was unreachable, for a while after it is back. */
function useBack(): number | undefined {
  const link = useKnown(({ link }) => link);
  const [back, setBack] = useState<number>();
  const missed = link.kind === "open" ? link.missed : undefined;
  useEffect(() => {
    if (missed === undefined || missed.until - missed.since < BLINK) return;
    setBack(missed.until - missed.since);
    announce(i18n.t("Back. Nothing missed."));
    const timer = setTimeout(() => setBack(undefined), BACK_FOR);
    return () => clearTimeout(timer);
  }, [missed]);
  return link.kind === "open" ? back : undefined;
}

function Away({ heard }: { heard: number | undefined }) {
  useEffect(() => announce(i18n.t("Connection lost. Reconnecting.")), []);
  return (
    <div className="strip">
      <WifiOff aria-hidden="true" />
      <span className="grow">
        {heard === undefined ? (
          <Trans
            id="<0>Can't reach the server.</0> Your sessions appear when it's back."
            components={{ 0: <b /> }}
          />
        ) : (
          <Trans
            id="<0>Can't reach the server.</0> Everything up to {time} is here; the rest appears when it's back."
            values={{ time: exactClock(heard) }}
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

function Back({ away }: { away: number }) {
  return (
    <div className="strip ok">
      <Check aria-hidden="true" />
      <span>
        <Trans
          id="{count, plural, one {<0>Back.</0> Caught up on # second, nothing missed.} other {<0>Back.</0> Caught up on # seconds, nothing missed.}}"
          values={{ count: Math.round(away / 1_000) }}
          components={{ 0: <b /> }}
        />
      </span>
    </div>
  );
}

function Failed() {
  const notice = useUi(({ notice }) => notice);
  return (
    <div className="strip">
      <Info aria-hidden="true" />
      <span className="grow">{notice?.text}</span>
      <button type="button" className="btn sm ghost" onClick={() => ui.setState({ notice: undefined })}>
        {i18n.t("Close")}
      </button>
    </div>
  );
}
