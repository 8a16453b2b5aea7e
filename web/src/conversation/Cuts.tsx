import type { Marker } from "../log/types";
import { knotWords } from "./ends";

/**
 * Knots in the margin where an answer was interrupted and continued. They stand beside the text and hold none: the words
 * are their name, which their style shows on hover and focus.
 */
export function Cuts({ of }: { of: readonly Marker[] }) {
  if (of.length === 0) return null;
  return (
    <span className="cuts">
      {of.map((marker) => (
        <span
          key={marker.run}
          className="cut"
          role="img"
          tabIndex={0}
          aria-label={knotWords(marker)}
          data-cut={marker.kind}
        />
      ))}
    </span>
  );
}
