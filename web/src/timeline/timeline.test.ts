import { readFileSync } from "node:fs";
import { join } from "node:path";

import { i18n } from "@lingui/core";
import { beforeAll, describe, expect, test } from "vitest";

import { byDay, linesOf, type Logged } from "./lines";
import { sentence } from "./sentences";

beforeAll(() => i18n.loadAndActivate({ locale: "en", messages: {} }));

const UNKNOWN = "Reload the page to show this content.";
const message = { text: "count the herons", attachments: [] };

/** One of every kind, with what is told of it. */
const TOLD: Record<string, [said: object, words: string]> = {
  session_created: [{ id: "1", title: "Herons" }, "Session created as “Herons”."],
  session_branched: [{ id: "1", from: "2", at: 3 }, "Session created as a branch of another session."],
  session_renamed: [{ title: "Terns" }, "You named the session “Terns”."],
  title_generated: [{ title: "Terns" }, "The agent suggested the name “Terns”."],
  flag_set: [{ flag: "pinned", on: true }, "You pinned the session."],
  tags_set: [{ tags: ["lake", "birds"] }, "You set the tags to lake, birds."],
  project_set: [{ project: null }, "You removed the session from its project."],
  id_added: [{ id: "1" }, "Session address added."],
  id_removed: [{ id: "1" }, "Session address removed."],
  message_posted: [{ message, mode: "queue" }, "You sent a message."],
  queued_edited: [{ message, turn: 1 }, "You edited a queued message."],
  queued_removed: [{ turn: 1 }, "You removed a queued message."],
  queue_paused: [
    {},
    "You pressed Stop. Queued messages are paused, and an interrupted answer won't resume automatically.",
  ],
  queue_resumed: [{}, "You resumed the queue."],
  message_steered: [{ run: 1, turn: 2 }, "A message was added to the running answer."],
  message_edited: [{ message, turn: 1 }, "You edited a message."],
  turns_undone: [{ from: 1 }, "You undid one or more turns. They stay in History."],
  turns_put_back: [{ from: 1 }, "You redid the last undone turns."],
  session_cleared: [{}, "You cleared the session. Its turns stay in History."],
  answer_chosen: [{ run: 1, turn: 1 }, "You chose another version of an answer."],
  run_started: [{ cause: "message", turn: 1 }, "The agent started answering."],
  step_started: [{ run: 1, step: 2 }, "Model request, step 2."],
  text_added: [{ run: 1, text: "heron" }, "The agent wrote 5 characters, saved in 1 entry."],
  reasoning_added: [{ run: 1, text: "hm" }, "The agent wrote 2 characters, saved in 1 entry."],
  call_drafted: [{ run: 1, call: 1, tool: "clock", arguments: "" }, "The agent is preparing to call clock."],
  call_asked: [{ run: 1, call: 1, tool: "clock", arguments: "{}" }, "The agent called clock."],
  call_finished: [{ run: 1, call: 1, outcome: { status: "ok", content: "" } }, "The tool returned a result."],
  usage_reported: [{ run: 1, usage: { input_tokens: 12, output_tokens: 3 } }, "12 tokens in, 3 out."],
  request_billed: [
    { run: 1, purpose: "title", usage: { input_tokens: 12, output_tokens: 3 } },
    "Title request: 12 tokens in, 3 out.",
  ],
  provider_part_added: [
    { run: 1, part: { wire: "messages", family: "f", kind: "thinking", data: "{}" } },
    "The provider attached data for later requests.",
  ],
  retry_scheduled: [
    { run: 1, reason: "rate_limit", error: "HTTP 429", wait_ms: 20_000 },
    "The provider's rate limit was reached. Retrying in 20 s.",
  ],
  run_ended: [{ run: 1, turn: 1, end: "completed" }, "The answer is complete."],
  recovery_attempted: [{ run: 1, turn: 1, attempts: 2 }, "Recovery attempt 2."],
  recovery_settled: [{ run: 1, turn: 1, outcome: "recovered" }, "The output was recovered."],
  context_compacted: [
    { summary: "birds", through: 1 },
    "The agent now sees a summary of older turns. You still see the full text.",
  ],
  entries_set_aside: [{ count: 2 }, "2 damaged entries were set aside. The rest is intact."],
  resume_marked: [{ reason: "crash" }, "The model will be told about the interruption."],
  resume_cleared: [{}, "Interruption notice cleared."],
  memory_owner_set: [{ owner: null }, "Memory turned off for this session."],
  memory_reassigned: [
    { first: 1, last: 2, to: "notes" },
    "Turns pending for memory were reassigned to notes.",
  ],
  memory_commit_started: [{ first: 1, last: 2, owner: "notes" }, "Saving turns to memory started."],
  memory_commit_accepted: [{ commit: 1, task: "t" }, "The memory accepted the turns and is processing them."],
  memory_commit_ended: [{ commit: 1, first: 1, last: 2, outcome: "done" }, "The turns were saved to memory."],
  delivery_owed: [
    { turn: 1, answer: 2, to: { chat: "c", message: "m", peer: "7", sender: "Anna" } },
    "The answer will be sent to the chat with Anna.",
  ],
  delivery_attempted: [{ answer: 2, part: 0 }, "Sending message 1 of the answer."],
  delivery_unsent: [{ answer: 2, part: 0 }, "Not sent yet: the platform didn't accept the message."],
  part_delivered: [{ answer: 2, part: 1, receipt: "9" }, "Message 2 of the answer was delivered."],
  chat_notified: [{ answer: 2, run: 3 }, "The chat was notified that the answer resumes."],
  delivery_ended: [{ answer: 2, outcome: "delivered" }, "The answer was delivered to its chat."],
};

describe("every kind of event that the server describes", () => {
  const { components } = JSON.parse(
    readFileSync(join(import.meta.dirname, "../../openapi.json"), "utf8"),
  ) as { components: { schemas: Record<string, { oneOf?: { $ref: string }[]; properties?: object }> } };
  const variants = components.schemas["Event"]?.oneOf ?? [];
  const kinds = variants.flatMap(({ $ref }) =>
    Object.keys(components.schemas[$ref.split("/").at(-1) ?? ""]?.properties ?? {}),
  );
  test("every kind is described", () => expect(kinds.length).toBeGreaterThan(40));
  test.each(kinds)("%s has a sentence", (kind) => {
    const [said, words] = TOLD[kind] ?? [{}, "a sentence in this test"];
    expect(sentence({ [kind]: said }).words).toBe(words);
  });
});

test("how a run ended", () => {
  const ended = (end: unknown) => sentence({ run_ended: { run: 1, turn: 1, end } });
  expect(ended({ stopped: { device: "Pixel 9" } })).toEqual({
    about: "person",
    words: "You stopped the answer.",
    device: "Pixel 9",
  });
  expect(ended({ stopped: { by_message: true } }).words).toBe("Your next message stopped the answer.");
  expect(ended({ failed: { error: "no credit" } })).toEqual({
    about: "trouble",
    words: "The answer failed: no credit",
  });
  const advice = { failed: { error: "Cut off. Everything above is kept; Continue tries again." } };
  expect(ended(advice)).toMatchObject({
    words: "The answer failed: Cut off. Everything above is kept.",
  });
  expect(ended({ output_limit: { tokens: 1024 } })).toEqual({
    about: "agent",
    words: "The answer reached the output limit (1,024 tokens).",
  });
  const reasons = [
    ["crash", ": the server stopped unexpectedly"],
    ["shutdown_timeout", ": the server was shut down"],
    ["restart_timeout", ": the server was restarted"],
    ["spool_full", ": the storage was unavailable"],
    ["lost_node", ": the server running it was lost"],
    ["eclipse", ""],
  ];
  for (const [reason, words] of reasons)
    expect(ended({ interrupted: { reason } })).toEqual({
      about: "trouble",
      words: `The answer was interrupted${words}. Everything written so far is saved.`,
    });
});

test("a variant of a newer version has a sentence too", () => {
  for (const other of ["eclipse", { eclipse: { at: 1 } }]) {
    const events = [
      { flag_set: { flag: other, on: true } },
      { message_posted: { message, mode: other } },
      { run_started: { turn: 1, cause: other } },
      { run_ended: { run: 1, turn: 1, end: other } },
      { run_ended: { run: 1, turn: 1, end: { interrupted: { reason: other } } } },
      { recovery_settled: { run: 1, turn: 1, outcome: other } },
      { call_finished: { run: 1, call: 1, outcome: { status: other, content: "" } } },
      { memory_commit_ended: { commit: 1, first: 1, last: 2, outcome: other } },
      { delivery_ended: { answer: 2, outcome: other } },
    ];
    for (const event of events) expect(sentence(event).words).toMatch(/^[A-Z].*\.$/);
  }
});

test("a message is told with its words and its device", () => {
  const posted = { message: { ...message, device: "Pixel 9" }, mode: "steer" };
  expect(sentence({ message_posted: posted })).toEqual({
    about: "person",
    words: "You sent a message to steer the agent.",
    quote: "count the herons",
    device: "Pixel 9",
  });
});

test("streamed text is one line, and what is not known is said to be of a newer version", () => {
  expect(sentence({ streamed: { run: 1, entries: 3, characters: 1200 } }).words).toMatch(
    /^The agent wrote 1.?200 characters, saved in 3 entries\.$/,
  );
  for (const event of [{ feather_found: {} }, { constructor: {} }, {}])
    expect(sentence(event).words).toBe(UNKNOWN);
});

const logged = (seq: number, epoch: number, event: object): Logged => ({
  seq,
  time: seq * 1_000,
  epoch,
  event,
});
const LOG = [
  logged(4, 3, { run_started: { cause: "resume", turn: 1 } }),
  logged(3, 3, { run_ended: { run: 2, turn: 1, end: { interrupted: { reason: "crash" } } } }),
  logged(2, 1, { run_started: { cause: "message", turn: 1 } }),
  logged(1, 1, { message_posted: { message, mode: "queue" } }),
];

test("another writer is told of below the first entry that it wrote", () => {
  expect(linesOf(LOG, "all").map(({ words }) => words)).toEqual([
    "The agent resumed the interrupted answer automatically.",
    "The answer was interrupted: the server stopped unexpectedly. Everything written so far is saved.",
    "Session reopened by writer 3.",
    "The agent started answering.",
    "You sent a message.",
  ]);
});

test("filters show what people did, or trouble", () => {
  expect(linesOf(LOG, "people").map(({ seq }) => seq)).toEqual([1]);
  expect(linesOf(LOG, "trouble").map(({ seq }) => seq)).toEqual([4, 3]);
});

test("lines stand by day, in the order in which they came", () => {
  const days = byDay(linesOf(LOG, "all"), (micros) => (micros >= 3_000 ? "Tuesday" : "Monday"));
  expect(days.map(([day, lines]) => [day, lines.length])).toEqual([
    ["Tuesday", 3],
    ["Monday", 2],
  ]);
});
