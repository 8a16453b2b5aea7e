import { i18n } from "@lingui/core";
import { Check, CloudOff } from "lucide-react";

import { isPending } from "../live/outbox";
import { useKnown } from "../shell/use";
import { exactClock } from "../shell/words";
import { isVolatile } from "../storage/local";

/** The status line below the list: whether everything is saved. */
export function SaveLine() {
  const link = useKnown(({ link }) => link.kind);
  const waiting = useKnown(({ outbox }) => outbox.filter(isPending).length);
  const rejected = useKnown(({ outbox }) => outbox.some((message) => message.refused !== undefined));
  const away = link !== "open";
  const heardAt = useKnown(({ heardAt }) => heardAt);
  if (waiting > 0) {
    return (
      <div className="foot">
        <b>
          <CloudOff aria-hidden="true" />{" "}
          {isVolatile() ? i18n.t("Not saved: keep this tab open") : i18n.t("Saved on this device")}
        </b>
        <span>
          {away
            ? i18n.t(
                "{waiting, plural, one {# message will be sent when the server is back} other {# messages will be sent when the server is back}}",
                { waiting },
              )
            : i18n.t("{waiting, plural, one {Sending # message…} other {Sending # messages…}}", {
                waiting,
              })}
        </span>
      </div>
    );
  }
  if (rejected) {
    return (
      <div className="foot">
        <b>
          <CloudOff aria-hidden="true" /> {i18n.t("Some messages were rejected")}
        </b>
        <span>{i18n.t("Open the sessions to edit or delete the rejected messages.")}</span>
      </div>
    );
  }
  return (
    <div className="foot">
      <b>
        {link === "open" ? <Check aria-hidden="true" /> : <CloudOff aria-hidden="true" />}
        {link === "open" ? i18n.t("Everything is saved") : i18n.t("Disconnected")}
      </b>
      {heardAt > 0 && (
        <span className="num">{i18n.t("Last saved {time}", { time: exactClock(heardAt) })}</span>
      )}
    </div>
  );
}
