// What became of an answer that goes to a chat: on its way, in doubt, refused. One that arrived is told in a word.

import { i18n } from "@lingui/core";

import type { Delivery } from "../log/types";
import { variant } from "../log/variants";
import { useKnown } from "../shell/use";

export function Delivered({ session, turn }: { session: string; turn: number }) {
  const delivery = useKnown(({ sessions }) =>
    sessions[session]?.state.deliveries?.findLast((known) => known.turn === turn),
  );
  if (delivery === undefined) return null;
  const { words, wrong } = told(delivery);
  return (
    <p className={wrong ? "err" : "dim"} data-delivery={delivery.answer}>
      {words}
    </p>
  );
}

function told({ outcome, to }: Delivery): { words: string; wrong: boolean } {
  const platform = platformOf(to.chat);
  if (outcome == null) return { words: i18n.t("On its way to {platform}…", { platform }), wrong: false };
  if (outcome === "delivered") return { words: i18n.t("Arrived on {platform}.", { platform }), wrong: false };
  if (outcome === "doubtful")
    return {
      words: i18n.t("It may not have arrived on {platform}; it was repeated twice.", { platform }),
      wrong: true,
    };
  const refused = variant(outcome, "refused");
  if (refused !== undefined)
    return {
      words: i18n.t("{platform} did not take it: {reason}", { platform, reason: refused.reason }),
      wrong: true,
    };
  const withdrawn = variant(outcome, "withdrawn");
  if (withdrawn !== undefined)
    return {
      words: i18n.t("Not sent to {platform}: {reason}", { platform, reason: withdrawn.reason }),
      wrong: false,
    };
  return {
    words: i18n.t("The delivery to {platform} ended in a way this version does not know.", { platform }),
    wrong: false,
  };
}

/** The second part of a chat's key is its platform, whose name has no sign that would be written otherwise. */
function platformOf(chat: string): string {
  return chat.split(":")[1] ?? "";
}
