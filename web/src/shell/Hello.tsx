import { i18n } from "@lingui/core";
import { lazy, Suspense } from "react";

import { useKnown } from "./use";

// Without the server it may not be here, and a new session does without it.
const Beginning = lazy(() => import("../first/Beginning").catch(() => ({ default: () => <></> })));

/** What is said where nothing is written yet: the promise, and for an owner a way to put it to the test. */
export function Hello({ level: Level }: { level: "h1" | "h2" }) {
  const owner = useKnown(({ user }) => user?.role === "owner");
  return (
    <>
      <Level>{i18n.t("Nothing written here gets lost.")}</Level>
      <p>
        {i18n.t(
          "Close the tab, lose the Wi-Fi, restart the server. The conversation is on disk before you see it, and it comes back to the exact word.",
        )}
      </p>
      {owner && (
        <Suspense>
          <Beginning steps={Level === "h1"} />
        </Suspense>
      )}
    </>
  );
}
