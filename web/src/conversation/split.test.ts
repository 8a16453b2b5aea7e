import { expect, it } from "vitest";

import type { TurnView } from "../log/types";
import { splitAt } from "./split";

const turns = (first: number, last: number) =>
  Array.from({ length: last - first }, (_, at) => ({ turn: first + at }) as TurnView);
const ids = (list: readonly TurnView[]) => list.map(({ turn }) => turn);

/** Returns the ids of both ranges. The state holds turns 5 to 7. */
function split(first: number | undefined) {
  const { settled, newest } = splitAt(first, turns(1, 5), turns(5, 8));
  return [ids(settled), ids(newest)];
}

it("splits the turns at the first that is in sight", () => {
  expect(split(6)).toEqual([
    [1, 2, 3, 4, 5],
    [6, 7],
  ]);
});

it("keeps a turn in sight that the state let go", () => {
  expect(split(4)).toEqual([
    [1, 2, 3],
    [4, 5, 6, 7],
  ]);
});

it("leaves the newest turn alone below when the first is unknown or taken back", () => {
  const alone = [[1, 2, 3, 4, 5, 6], [7]];
  expect(split(undefined)).toEqual(alone);
  expect(split(9)).toEqual(alone);
});
