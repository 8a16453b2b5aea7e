import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";

import { putBack } from "./undo";

/** Shown after the last turn while an undo can be redone. */
export function TakenBack({ session }: { session: string }) {
  return (
    <article className="turn" aria-label={i18n.t("Turn undone")}>
      <div className="e">
        <div className="mk" data-marker="taken_back">
          <span>
            <Trans
              id="<0>Turn undone.</0> The agent no longer sees it. It stays in History."
              components={{ 0: <b /> }}
            />
          </span>
          <span className="do">
            <button type="button" className="btn sm" onClick={() => void putBack(session)}>
              {i18n.t("Redo")}
            </button>
          </span>
        </div>
      </div>
    </article>
  );
}
