// Views of the list: all, live, needs you; below the list, archive and trash.

import { i18n } from "@lingui/core";
import { Archive, Trash2 } from "lucide-react";

import { look, useLists } from "../sessions/lists";
import { pickNone } from "../sessions/picked";
import type { View } from "../sessions/types";
import { useKnown } from "../shell/use";
import { countOf } from "../shell/words";

/** Views with an address. */
export const VIEWS: Readonly<Record<string, View>> = {
  "/live": { shelf: "active", state: "live" },
  "/needs-you": { shelf: "active", state: "needs_you" },
  "/archive": { shelf: "archived" },
  "/trash": { shelf: "trash" },
};

/** Changes the view and clears the selection. */
export function show(view: View): void {
  pickNone();
  look(view);
}

export function Views() {
  const view = useLists(({ view }) => view);
  const { live, needs_you } = useLists(({ happening }) => happening);
  // Without a connection, the number of live sessions is unknown.
  const away = useKnown(({ link }) => link.kind === "away");
  const { shelf: _, state, ...narrow } = view;
  const active = view.shelf === "active";
  return (
    <div className="seg" role="group" aria-label={i18n.t("Filter sessions")}>
      <button
        type="button"
        aria-pressed={active && state === undefined}
        onClick={() => show({ shelf: "active", ...narrow })}
      >
        {i18n.t("All")}
      </button>
      <button
        type="button"
        aria-pressed={state === "live"}
        onClick={() => show({ shelf: "active", state: "live", ...narrow })}
      >
        {i18n.t("Live")} <Count count={away ? undefined : live} />
      </button>
      <button
        type="button"
        aria-pressed={state === "needs_you"}
        onClick={() => show({ shelf: "active", state: "needs_you", ...narrow })}
      >
        {i18n.t("Needs you")} <Count count={needs_you} needsYou />
      </button>
    </div>
  );
}

function Count({ count, needsYou = false }: { count: number | undefined; needsYou?: boolean }) {
  if (count === undefined || count === 0) return null;
  return <span className={needsYou ? "n a num" : "n num"}>{countOf(count)}</span>;
}

/** Archive and trash, at the foot of the list. */
export function Places() {
  const shelf = useLists(({ view }) => view.shelf);
  const counts = useLists(({ counts }) => counts);
  return (
    <div className="places">
      <button
        type="button"
        aria-pressed={shelf === "archived"}
        onClick={() => show({ shelf: shelf === "archived" ? "active" : "archived" })}
      >
        <Archive aria-hidden="true" /> {i18n.t("Archive")} <Count count={counts?.archived} />
      </button>
      <button
        type="button"
        aria-pressed={shelf === "trash"}
        onClick={() => show({ shelf: shelf === "trash" ? "active" : "trash" })}
      >
        <Trash2 aria-hidden="true" /> {i18n.t("Trash")} <Count count={counts?.trash} />
      </button>
    </div>
  );
}
