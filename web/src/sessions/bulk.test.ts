import { i18n } from "@lingui/core";
import { beforeAll, describe, expect, it } from "vitest";

import { Refused } from "../api/client";
import { codeText } from "../api/problems";
import { oneByOne, outcomeWords, progressWords, type Outcome } from "./bulk";

beforeAll(() => i18n.loadAndActivate({ locale: "en", messages: {} }));

const refuse = (code: string) => Promise.reject(new Refused(409, code, "a detail"));

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
      return item === 2 ? refuse("damaged") : Promise.resolve();
    });
    expect(order).toEqual([1, 2, 3, 4]);
    expect(told).toEqual([1, 2, 3, 4].map((count) => `${count}: Archiving ${count} of 4…`));
    expect(outcomeWords("archive", outcome)).toBe(
      `Archived 3 of 4 sessions. 1 session couldn't be changed. ${codeText("damaged")}`,
    );
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
      "Moved 2 of 4 sessions to trash. The server is unreachable. The other sessions were not changed.",
    );
  });

  it("ends when it is told to", async () => {
    let asked = 0;
    const { outcome } = await play(
      () => Promise.resolve(),
      () => (asked += 1) > 2,
    );
    expect(outcomeWords("erase", outcome)).toBe(
      "Permanently deleted 2 of 4 sessions. The other sessions were not changed.",
    );
  });
});

describe("the words for it", () => {
  const outcome = (rest: Partial<Outcome>): Outcome => ({ done: 14, total: 14, refused: [], ...rest });

  it("counts", () => {
    expect(outcomeWords("archive", outcome({}))).toBe("Archived 14 sessions.");
    expect(outcomeWords("put_back", outcome({ done: 1, total: 1 }))).toBe("Restored 1 session.");
    expect(outcomeWords("tag", outcome({ done: 1, total: 1 }))).toBe("Updated tags of 1 session.");
    expect(outcomeWords("move", outcome({ done: 0, total: 2, ended: "told" }))).toBe(
      "Moved 0 of 2 sessions. The other sessions were not changed.",
    );
  });

  it("says each reason once", () => {
    const refused = ["damaged", "session_not_found", "damaged"];
    expect(outcomeWords("archive", outcome({ done: 11, refused }))).toBe(
      `Archived 11 of 14 sessions. 3 sessions couldn't be changed. ${codeText("damaged")} ${codeText("session_not_found")}`,
    );
  });
});
