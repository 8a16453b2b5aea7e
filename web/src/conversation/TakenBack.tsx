import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";

import { putBack } from "./undo";

/** At the end of the turns, for as long as it can be undone: what was taken back is not gone. */
export function TakenBack({ session }: { session: string }) {
  return (
    <article className="turn" aria-label={i18n.t("Taken back")}>
      <div className="e">
        <div className="mk" data-marker="taken_back">
          <span>
            <Trans
              id="<0>Turn taken back.</0> The agent no longer reads it. It stays in History."
              components={{ 0: <b /> }}
            />
          </span>
          <span className="do">
            <button type="button" className="btn sm" onClick={() => void putBack(session)}>
              {i18n.t("Put back")}
            </button>
          </span>
        </div>
      </div>
    </article>
  );
}
