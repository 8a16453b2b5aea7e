import { i18n } from "@lingui/core";
import { lazily } from "./lazily";
import { useKnown } from "./use";

const Beginning = lazily(() => import("../first/Beginning"));

/** What is said where nothing is written yet: the promise, and for an owner a way to put it to the test. */
export function Hello({ level: Level }: { level: "h1" | "h2" }) {
  const owner = useKnown(({ user }) => user?.role === "owner");
  return (
    <>
      <Level>{i18n.t("Nothing you write here gets lost.")}</Level>
      <p>
        {i18n.t(
          "Close the tab, lose the Wi-Fi, restart the server. Every word is on disk before you see it, so nothing is missing when you return.",
        )}
      </p>
      {owner && <Beginning steps={Level === "h1"} />}
    </>
  );
}
