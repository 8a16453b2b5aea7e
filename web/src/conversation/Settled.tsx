import { memo, useState, type RefObject } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import type { TurnView } from "../log/types";
import { sameList } from "./split";
import { placeOf, Turn } from "./Turn";

interface Props {
  turns: readonly TurnView[];
  /** The number of turns that are not loaded. */
  before: number;
  count: number;
  session: string;
  /** Turns to keep mounted while they are off screen. */
  kept: readonly number[];
  scroller: RefObject<HTMLDivElement | null>;
  list: RefObject<VirtualizerHandle | null>;
}

/** The virtual range: all turns above the newest ones. It does not re-render while those grow. */
export const Settled = memo(
  function Settled({ turns, before, count, session, kept, scroller, list }: Props) {
    const older = useOlder(turns);
    const places = kept
      .map((kept) => turns.findIndex(({ turn }) => turn === kept))
      .filter((place) => place >= 0);
    return (
      <Virtualizer ref={list} data={turns} scrollRef={scroller} shift={older} keepMounted={places}>
        {(turn, at) => (
          <Turn
            key={turn.turn}
            turn={turn}
            session={session}
            newest={false}
            live={false}
            place={placeOf(before + at, count)}
          />
        )}
      </Virtualizer>
    );
  },
  (one, other) =>
    one.before === other.before &&
    one.count === other.count &&
    one.session === other.session &&
    sameList(one.kept, other.kept) &&
    sameList(one.turns, other.turns),
);

/** Renders the same turns without virtualization, for print only. */
export function Printed({
  turns,
  before,
  count,
  session,
}: Pick<Props, "turns" | "before" | "count" | "session">) {
  return (
    <div className="printed">
      {turns.map((turn, at) => (
        <Turn
          key={turn.turn}
          turn={turn}
          session={session}
          newest={false}
          live={false}
          place={placeOf(before + at, count)}
        />
      ))}
    </div>
  );
}

/**
 * Returns whether the latest change inserted turns above. The virtualizer then keeps the scroll position from the end.
 */
function useOlder(turns: readonly TurnView[]): boolean {
  const [known, setKnown] = useState({ turns, older: false });
  if (known.turns === turns) return known.older;
  const older = turns.length > known.turns.length && turns[0] !== known.turns[0];
  setKnown({ turns, older });
  return older;
}
