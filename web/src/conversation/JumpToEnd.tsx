import { i18n } from "@lingui/core";
import { ArrowDown } from "lucide-react";
import { useState } from "react";

import type { TurnView } from "../log/types";
import { hasGrown, writtenIn } from "./end";

interface Props {
  /** The newest turn. */
  turn: TurnView | undefined;
  go: () => void;
}

/** Shown while the reader is above the end. It promises new text only if some came since. */
export function JumpToEnd({ turn, go }: Props) {
  const now = writtenIn(turn);
  const [before] = useState(now);
  const grew = hasGrown(before, now);
  const label = grew ? i18n.t("New text") : i18n.t("Jump to latest");
  return (
    <div className="to-end">
      <button type="button" className={grew ? "grew" : ""} aria-label={label} title={label} onClick={go}>
        <ArrowDown aria-hidden="true" />
      </button>
    </div>
  );
}
