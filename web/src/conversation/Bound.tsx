// The chats whose messages go to the session that is shown.

import { i18n } from "@lingui/core";
import { MessagesSquare } from "lucide-react";

import type { Schemas } from "../api/client";
import { useAsked } from "../shell/asked";
import { useKnown } from "../shell/use";

/** Nothing is asked where nothing was ever owed to a chat. */
export function Bound({ session }: { session: string }) {
  const newest = useKnown(({ sessions }) => sessions[session]?.state.deliveries?.at(-1)?.answer);
  return newest === undefined ? null : <Told session={session} newest={newest} />;
}

function Told({ session, newest }: { session: string; newest: number }) {
  const { value } = useAsked<Schemas["BindingsBody"]>(`/sessions/${session}/bindings`, newest);
  const platforms = value?.bindings.filter(({ suspended }) => !suspended).map(({ platform }) => platform);
  if (platforms === undefined || platforms.length === 0) return null;
  const names = [...new Set(platforms)].join(", ");
  return (
    <span className="origin" title={i18n.t("New messages in this chat continue this session")}>
      <MessagesSquare aria-hidden="true" />
      <span className="clip">{i18n.t("Chat on {names}", { names })}</span>
    </span>
  );
}
