import { i18n } from "@lingui/core";
import { Trans } from "@lingui/react";
import { HardDrive } from "lucide-react";
import { Link } from "wouter";

import { useKnown } from "../shell/use";

// The server's reason is plain text. These words occur if the disk is full.
const FULL = /\b(full|reserve|space|room)\b/i;

/** The only red strip, shown while the server can't save. */
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
            id="<0>The server's disk is full, so the agent is paused.</0> Everything written so far is safe. New output can't be saved until there is free space."
            components={{ 0: <b /> }}
          />
        ) : (
          <Trans
            id="<0>The server can't save right now, so the agent is paused.</0> Everything written so far is safe. Reason: {problem}"
            components={{ 0: <b /> }}
            // An element, because tags in a plain text value would be parsed like those of the message.
            values={{ problem: <>{problem}</> }}
          />
        )}
      </span>
      {owner && (
        <Link href="/settings/data" className="btn sm ghost">
          {i18n.t("Show disk usage")}
        </Link>
      )}
    </div>
  );
}
