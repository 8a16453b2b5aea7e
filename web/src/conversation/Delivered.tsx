// The delivery status of an answer to a chat.

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
  if (outcome == null) return { words: i18n.t("Sending to {platform}…", { platform }), wrong: false };
  if (outcome === "delivered")
    return { words: i18n.t("Delivered to {platform}.", { platform }), wrong: false };
  if (outcome === "doubtful")
    return {
      words: i18n.t("The answer may not have reached {platform}. It was sent three times.", { platform }),
      wrong: true,
    };
  const refused = variant(outcome, "refused");
  if (refused !== undefined)
    return {
      words: i18n.t("{platform} rejected the answer: {reason}", { platform, reason: refused.reason }),
      wrong: true,
    };
  const withdrawn = variant(outcome, "withdrawn");
  if (withdrawn !== undefined)
    return {
      words: i18n.t("Not sent to {platform}: {reason}", { platform, reason: withdrawn.reason }),
      wrong: false,
    };
  return {
    words: i18n.t("The outcome of the delivery to {platform} is unknown. Reload the page to show it.", {
      platform,
    }),
    wrong: false,
  };
}

/** Returns the platform, which is the second part of a chat's key. Its name needs no decoding. */
function platformOf(chat: string): string {
  return chat.split(":")[1] ?? "";
}
