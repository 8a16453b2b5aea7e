import { i18n } from "@lingui/core";

import { useKnown } from "../shell/use";
import { WaitingTurn } from "./Turn";

interface Props {
  why: string;
  /** The session that is missing. Messages for it that were not sent stay on this device. */
  session?: string;
}

/** An address without a session, or with one that may not be seen. */
export function Nowhere({ why, session }: Props) {
  const outbox = useKnown(({ outbox }) => outbox);
  const unsent = outbox.filter((message) => message.session === session && message.kept === undefined);
  return (
    <div className="thread">
      <div className="col push hello">
        <h1>{i18n.t("There is nothing here")}</h1>
        <p>{why}</p>
        {unsent.map((message) => (
          <WaitingTurn key={message.key} message={message} lost />
        ))}
      </div>
    </div>
  );
}
