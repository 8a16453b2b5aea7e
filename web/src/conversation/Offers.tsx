// Offers of the page: reload after an update, enable notifications.

import { i18n } from "@lingui/core";
import { Bell, RefreshCw } from "lucide-react";
import { useEffect } from "react";

import { announce } from "../shell/announce";
import { wantNotifications } from "../shell/notifications";
import { askLater } from "../shell/offer";
import { ui, useUi } from "../shell/ui";
import { useKnown } from "../shell/use";

export function Offers() {
  const outdated = useKnown(({ outdated }) => outdated);
  const newer = useKnown(({ newer }) => newer) || outdated;
  const offers = useUi(({ offers }) => offers);
  const said = outdated
    ? i18n.t(
        "The server was updated. Reload the page to see new content. Your messages and drafts are saved.",
      )
    : newer
      ? i18n.t("An update is available. Your messages and drafts are saved.")
      : i18n.t("Get notified when an answer is ready?");
  const shown = newer || offers;
  useEffect(() => {
    if (shown) announce(said);
  }, [shown, said]);
  if (!shown) return null;
  if (newer) {
    return (
      <div className="strip">
        <RefreshCw aria-hidden="true" />
        <span className="grow">{said}</span>
        <button type="button" className="btn sm" onClick={() => location.reload()}>
          {i18n.t("Reload")}
        </button>
      </div>
    );
  }
  const want = () => void wantNotifications().then(() => ui.setState({ offers: false }));
  return (
    <div className="strip">
      <Bell aria-hidden="true" />
      <span className="grow">{said}</span>
      <button type="button" className="btn sm" onClick={want}>
        {i18n.t("Notify me")}
      </button>
      <button type="button" className="btn sm ghost" onClick={askLater}>
        {i18n.t("Not now")}
      </button>
    </div>
  );
}
