import { memo, useState, type RefObject } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";

import type { TurnView } from "../log/types";
import { sameList } from "./split";
import { placeOf, Turn } from "./Turn";

interface Props {
  turns: readonly TurnView[];
  /** How many turns are not here yet. */
  before: number;
  count: number;
  session: string;
  /** Turns that stay in the page also off the screen. */
  kept: readonly number[];
  scroller: RefObject<HTMLDivElement | null>;
  list: RefObject<VirtualizerHandle | null>;
}

/** The virtual range: everything above the newest turns. It rests while they grow. */
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

/** The same turns outside of the virtual range, for paper alone: on the screen nothing moves. */
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

/** Whether the latest change brought turns in above; then a reader's place is counted from the end. */
function useOlder(turns: readonly TurnView[]): boolean {
  const [known, setKnown] = useState({ turns, older: false });
  if (known.turns === turns) return known.older;
  const older = turns.length > known.turns.length && turns[0] !== known.turns[0];
  setKnown({ turns, older });
  return older;
}
