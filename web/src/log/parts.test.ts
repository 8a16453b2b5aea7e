import { expect, test } from "vitest";

import { joined } from "./parts";
import type { Piece, Run, RunEnd } from "./types";

const CRASH: RunEnd = { interrupted: { reason: "crash" } };
let ids = 0;

function run(end: RunEnd | null, pieces: Piece[], asked_to_continue = false): Run {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const times = { started_at: 1, last_at: 1, ended_at: end === null ? null : 2 };
  ids += 1;
  return {
    ...{ id: ids, cause: ids === 1 ? "message" : "continue", spool: null, steps: 1, recovery: "none" },
    ...{ end, pieces, usage, asked_to_continue, tags: "Answer", ...times },
  };
}

const said = (...runs: Run[]) => {
  const { parts, interruptions } = joined(runs);
  return { parts, cuts: interruptions.map(({ part, offset, marker }) => [part, offset, marker.reason]) };
};

test("a text that was cut and continued is one text", () => {
  const runs = [run(CRASH, [{ text: "🎉 thro" }]), run("completed", [{ text: "ugh" }])];
  expect(said(...runs)).toEqual({ parts: [{ text: "🎉 through" }], cuts: [[0, 6, "crash"]] });
});

test("where the last run ended stands by itself", () => {
  expect(said(run(CRASH, [{ text: "thro" }]))).toEqual({ parts: [{ text: "thro" }], cuts: [] });
});

test("a model that was asked to continue may repeat what it wrote", () => {
  const again = run("completed", [{ text: "through the paper." }], true);
  expect(said(run(CRASH, [{ text: "It went through the" }]), again).parts).toEqual([
    { text: "It went through the paper." },
  ]);
});

test("a thought before the continuation stands before the text", () => {
  const first = run(CRASH, [{ text: "one " }]);
  const second = run(CRASH, [{ reasoning: "hm" }, { text: "two " }]);
  const third = run("completed", [{ reasoning: "yes" }, { text: "three" }]);
  expect(said(first, second, third)).toEqual({
    parts: [{ reasoning: "hm\n\nyes" }, { text: "one two three" }],
    cuts: [
      [1, 4, "crash"],
      [1, 8, "crash"],
    ],
  });
});

test("a thought goes on with the thought before it", () => {
  const runs = [run(CRASH, [{ reasoning: "h" }]), run("completed", [{ reasoning: "hm" }, { text: "a" }])];
  expect(said(...runs)).toEqual({
    parts: [{ reasoning: "h\n\nhm" }, { text: "a" }],
    cuts: [[0, 1, "crash"]],
  });
});

test("a message to the agent ends the joining", () => {
  const steered: Piece = { steered: { turn: 9, message: { text: "louder" } } };
  const runs = [run(CRASH, [{ text: "a" }, steered]), run("completed", [{ text: "b" }])];
  expect(said(...runs)).toEqual({ parts: [{ text: "a" }, steered, { text: "b" }], cuts: [[1, 0, "crash"]] });
});

test("a run that brought nothing ended where the one before it did", () => {
  const lost: RunEnd = { interrupted: { reason: "lost_node" } };
  const runs = [run(CRASH, [{ text: "a" }]), run(lost, []), run("completed", [{ text: "b" }])];
  expect(said(...runs).cuts).toEqual([[0, 1, "lost_node"]]);
});

test("parts that did not change stay the same", () => {
  const [first, second] = [run(CRASH, [{ text: "a" }]), run(CRASH, [{ text: "b" }])];
  const before = joined([first, second]).parts;
  const grown = { ...second, pieces: [...second.pieces, { reasoning: "hm" }] };
  expect(joined([first, grown]).parts[0]).toBe(before[0]);
});
