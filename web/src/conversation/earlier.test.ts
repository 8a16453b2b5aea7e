import { describe, expect, it } from "vitest";

import type { TurnView, View } from "../log/types";
import { NOTHING_KEPT, goOn } from "./earlier";

const turn = (turn: number) => ({ turn }) as TurnView;
/** The view of a state that holds the turns from one to another. */
const view = (first: number, last: number) =>
  ({
    turns_before: first,
    turns: Array.from({ length: last - first }, (_, at) => turn(first + at)),
  }) as unknown as View;
const shown = ({ turns, view }: ReturnType<typeof goOn>) =>
  [...turns, ...(view?.turns ?? [])].map(({ turn }) => turn);

describe("earlier turns", () => {
  it("stay when the state lets them go", () => {
    let kept = goOn(NOTHING_KEPT, view(10, 14));
    kept = goOn({ ...kept, turns: [turn(8), turn(9)] }, view(11, 15));
    kept = goOn(kept, view(13, 16));
    expect(shown(kept)).toEqual([8, 9, 10, 11, 12, 13, 14, 15]);
  });

  it("are shown once when the state has them again", () => {
    const kept = goOn(goOn(NOTHING_KEPT, view(10, 14)), view(12, 15));
    expect(shown(goOn(kept, view(11, 14)))).toEqual([10, 11, 12, 13]);
    expect(shown(goOn(kept, view(0, 0)))).toEqual([]);
  });

  it("come by page where some were never shown", () => {
    const kept = goOn({ ...goOn(NOTHING_KEPT, view(10, 14)), turns: [turn(9)] }, view(15, 18));
    expect(shown(kept)).toEqual([15, 16, 17]);
  });
});
