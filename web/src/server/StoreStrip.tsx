import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";
import { HardDrive } from "lucide-react";
import { Link } from "wouter";

import { useKnown } from "../shell/use";

// A server names the reason in its own words; these are those of a disk without room.
const FULL = /\b(full|reserve|space|room)\b/i;

/** The only red strip: the server can keep nothing at the moment. It goes when the server says that it can. */
export function StoreStrip() {
  const unwritable = useKnown(({ unwritable }) => unwritable);
  const owner = useKnown(({ user }) => user?.role === "owner");
  if (unwritable === undefined) return null;
  const { problem } = unwritable;
  return (
    <div className="strip bad" role="alert">
      <HardDrive aria-hidden="true" />
      <span className="grow">
        {problem === "" || FULL.test(problem) ? (
          <Trans
            id="<0>The server's disk is full, so the agent is paused.</0> Everything written so far is safe. New output can't be saved until there is room."
            components={{ 0: <b /> }}
          />
        ) : (
          <Trans
            id="<0>The server can keep nothing at the moment, so the agent is paused.</0> Everything written so far is safe. {problem}"
            components={{ 0: <b /> }}
            // As an element: a text among the values is searched for tags like those of the message.
            values={{ problem: <>{problem}</> }}
          />
        )}
      </span>
      {owner && (
        <Link href="/settings/data" className="btn sm ghost">
          {i18n.t("Show what uses space")}
        </Link>
      )}
    </div>
  );
}
