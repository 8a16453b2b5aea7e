import { i18n } from "@lingui/core";

import { useKnown } from "../shell/use";
import { WaitingTurn } from "./Turn";

interface Props {
  /** The heading, for a session that exists but can't be opened. */
  title?: string;
  why: string;
  /** The session that is missing. Messages for it that were not sent stay on this device. */
  session?: string;
}

/** Shown in place of a session that is missing or can't be opened. */
export function Nowhere({ title, why, session }: Props) {
  const outbox = useKnown(({ outbox }) => outbox);
  const unsent = outbox.filter((message) => message.session === session && message.kept === undefined);
  return (
    <div className="thread">
      <div className="col push hello">
        <h1>{title ?? i18n.t("Session not found")}</h1>
        <p>{why}</p>
        {unsent.map((message) => (
          <WaitingTurn key={message.key} message={message} lost />
        ))}
      </div>
    </div>
  );
}
