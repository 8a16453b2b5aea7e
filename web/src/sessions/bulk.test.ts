import { i18n } from "@lingui/core";
import { beforeAll, describe, expect, it } from "vitest";

import { Refused } from "../api/client";
import { oneByOne, outcomeWords, progressWords, type Outcome } from "./bulk";

beforeAll(() => i18n.loadAndActivate({ locale: "en", messages: {} }));

const refuse = (detail: string) => Promise.reject(new Refused(409, "no", detail));

async function play(act: (item: number) => Promise<unknown>, enough = () => false) {
  const told: string[] = [];
  const outcome = await oneByOne([1, 2, 3, 4], act, {
    tell: (outcome, item) => told.push(`${item}: ${progressWords("archive", outcome)}`),
    enough,
  });
  return { outcome, told };
}

describe("doing it with many", () => {
  it("goes on after one that is refused, and tells each", async () => {
    const order: number[] = [];
    const { outcome, told } = await play((item) => {
      order.push(item);
      return item === 2 ? refuse("It is being erased.") : Promise.resolve();
    });
    expect(order).toEqual([1, 2, 3, 4]);
    expect(told).toEqual([1, 2, 3, 4].map((count) => `${count}: Archiving, ${count} of 4`));
    expect(outcomeWords("archive", outcome)).toBe("3 of 4 archived. 1 was refused: It is being erased.");
  });

  it("waits for one before it begins the next", async () => {
    let running = 0;
    let most = 0;
    await play(async () => {
      running += 1;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= 1;
    });
    expect(most).toBe(1);
  });

  it("ends where the server cannot be reached", async () => {
    const { outcome } = await play((item) =>
      item === 3 ? Promise.reject(new TypeError()) : Promise.resolve(),
    );
    expect(outcomeWords("trash", outcome)).toBe(
      "2 of 4 moved to trash. The server cannot be reached. The rest is as it was.",
    );
  });

  it("ends when it is told to", async () => {
    let asked = 0;
    const { outcome } = await play(
      () => Promise.resolve(),
      () => (asked += 1) > 2,
    );
    expect(outcomeWords("erase", outcome)).toBe("2 of 4 erased. The rest is as it was.");
  });
});

describe("the words for it", () => {
  const outcome = (rest: Partial<Outcome>): Outcome => ({ done: 14, total: 14, refused: [], ...rest });

  it("counts", () => {
    expect(outcomeWords("archive", outcome({}))).toBe("14 sessions archived.");
    expect(outcomeWords("put_back", outcome({ done: 1, total: 1 }))).toBe("1 session put back.");
    expect(outcomeWords("tag", outcome({ done: 1, total: 1 }))).toBe("Tags of 1 session changed.");
    expect(outcomeWords("move", outcome({ done: 0, total: 2, ended: "told" }))).toBe(
      "0 of 2 moved. The rest is as it was.",
    );
  });

  it("says each reason once", () => {
    const refused = ["The log is damaged.", "There is no such session.", "The log is damaged."];
    expect(outcomeWords("archive", outcome({ done: 11, refused }))).toBe(
      "11 of 14 archived. 3 were refused: The log is damaged. There is no such session.",
    );
  });
});
