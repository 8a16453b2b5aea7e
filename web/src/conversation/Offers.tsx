// What the page would like to do, said quietly and left when it is not wanted.

import { i18n } from "@lingui/core";
import { Bell, RefreshCw } from "lucide-react";

import { wantNotifications } from "../shell/notifications";
import { askLater } from "../shell/offer";
import { ui, useUi } from "../shell/ui";
import { useKnown } from "../shell/use";

export function Offers() {
  const newer = useKnown(({ newer }) => newer);
  const offers = useUi(({ offers }) => offers);
  if (newer) {
    return (
      <div className="strip" role="status">
        <RefreshCw aria-hidden="true" />
        <span className="grow">{i18n.t("A newer page is ready. Nothing you typed is affected.")}</span>
        <button type="button" className="btn sm" onClick={() => location.reload()}>
          {i18n.t("Reload")}
        </button>
      </div>
    );
  }
  if (!offers) return null;
  const want = () => void wantNotifications().then(() => ui.setState({ offers: false }));
  return (
    <div className="strip" role="status">
      <Bell aria-hidden="true" />
      <span className="grow">{i18n.t("Be told when an answer is finished?")}</span>
      <button type="button" className="btn sm" onClick={want}>
        {i18n.t("Yes")}
      </button>
      <button type="button" className="btn sm ghost" onClick={askLater}>
        {i18n.t("Not now")}
      </button>
    </div>
  );
}
