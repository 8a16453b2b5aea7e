// Drafts and unsent messages of new sessions that exist on this device only.

import { i18n } from "@lingui/core";
import { Link } from "wouter";

import { useKnown } from "../shell/use";
import { draftHere } from "../storage/drafts";

export function Unsent({ shown }: { shown: string | undefined }) {
  const fresh = useKnown(({ fresh }) => fresh);
  const outbox = useKnown(({ outbox }) => outbox);
  const newest = Object.values(fresh).sort((one, other) => other.at - one.at);
  return newest.map(({ session }) => {
    const sent = outbox.find((message) => message.session === session);
    const text = (sent?.text ?? (session === shown ? "" : draftHere(session))).trim();
    if (text === "" && sent === undefined) return null;
    return (
      <div key={session} className="slot">
        <Link href={`/s/${session}`} className="sess" aria-current={session === shown ? "page" : undefined}>
          <span />
          <span className="t">{text === "" ? i18n.t("New session") : text.split("\n", 1)[0]}</span>
          <span className="w" />
          <span className="m">{sent === undefined ? i18n.t("Draft") : i18n.t("Not sent yet")}</span>
        </Link>
      </div>
    );
  });
}
