import { i18n } from "@lingui/core";
import { Check, CloudOff } from "lucide-react";

import { useKnown } from "../shell/use";
import { exactClock } from "../shell/words";

/** At the foot of the list: whether everything is saved, all the time. */
export function SaveLine() {
  const link = useKnown(({ link }) => link.kind);
  const waiting = useKnown(({ outbox }) => outbox.filter((message) => message.kept === undefined).length);
  const heardAt = useKnown(({ heardAt }) => heardAt);
  if (waiting > 0) {
    return (
      <div className="foot">
        <b>
          <CloudOff aria-hidden="true" /> {i18n.t("Kept on this device")}
        </b>
        <span>
          {i18n.t(
            "{waiting, plural, one {# message goes out when the server is back} other {# messages go out when the server is back}}",
            { waiting },
          )}
        </span>
      </div>
    );
  }
  return (
    <div className="foot">
      <b>
        {link === "open" ? <Check aria-hidden="true" /> : <CloudOff aria-hidden="true" />}
        {link === "open" ? i18n.t("Everything is saved") : i18n.t("Out of touch")}
      </b>
      {heardAt > 0 && (
        <span className="num">{i18n.t("Last heard {time}", { time: exactClock(heardAt) })}</span>
      )}
    </div>
  );
}
