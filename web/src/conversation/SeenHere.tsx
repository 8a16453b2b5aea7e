import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";

import { replica } from "../live/store";
import { transcript } from "../log/transcript";
import { useKnown } from "../shell/use";
import { exactClock } from "../shell/words";

/** Turns that the server lost. They stay on this device until the user discards them. */
export function SeenHere({ session }: { session: string }) {
  const lost = useKnown(({ lost }) => lost[session]);
  if (lost === undefined) return null;
  const text = transcript(lost.turns);
  const save = () => {
    const address = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `seen-on-this-device-${session}.txt`;
    link.click();
    URL.revokeObjectURL(address);
  };
  return (
    <article className="turn" aria-label={i18n.t("Seen on this device")}>
      <div className="e">
        <div className="mk" data-marker="seen">
          <span>
            <Trans
              id="<0>Seen on this device.</0> The server lost the last text shown here until {time}. This device still has it."
              values={{ time: exactClock(lost.at) }}
              components={{ 0: <b /> }}
            />
          </span>
          <span className="do">
            <button type="button" className="btn sm" onClick={save}>
              {i18n.t("Save as file")}
            </button>
            <button type="button" className="btn sm ghost" onClick={() => replica.discard(session)}>
              {i18n.t("Discard")}
            </button>
          </span>
        </div>
      </div>
    </article>
  );
}
