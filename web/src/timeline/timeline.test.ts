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
  session_created: [{ id: "1", title: "Herons" }, "The session began as “Herons”."],
  session_branched: [{ id: "1", from: "2", at: 3 }, "The session began as a branch of another one."],
  session_renamed: [{ title: "Terns" }, "You named the session “Terns”."],
  title_generated: [{ title: "Terns" }, "The agent suggested the name “Terns”."],
  flag_set: [{ flag: "pinned", on: true }, "You pinned the session."],
  tags_set: [{ tags: ["lake", "birds"] }, "You tagged the session lake, birds."],
  project_set: [{ project: null }, "You took the session out of its project."],
  id_added: [{ id: "1" }, "Another address leads here from now on."],
  id_removed: [{ id: "1" }, "An address no longer leads here."],
  message_posted: [{ message, mode: "queue" }, "You sent a message."],
  queued_edited: [{ message, turn: 1 }, "You changed a waiting message."],
  queued_removed: [{ turn: 1 }, "You took a waiting message back."],
  queue_paused: [
    {},
    "You stopped. Waiting messages are paused, and an interrupted answer won't resume by itself.",
  ],
  queue_resumed: [{}, "You resumed the waiting messages."],
  message_steered: [{ run: 1, turn: 2 }, "A message went into the running answer."],
  message_edited: [{ message, turn: 1 }, "You said a message differently."],
  turns_undone: [{ from: 1 }, "You took turns back. They stay in History."],
  turns_put_back: [{ from: 1 }, "You put back what was taken back last."],
  session_cleared: [{}, "You cleared the session. What was there stays in History."],
  answer_chosen: [{ run: 1, turn: 1 }, "You chose another version of an answer."],
  run_started: [{ cause: "message", turn: 1 }, "The agent began to answer."],
  step_started: [{ run: 1, step: 2 }, "The agent asked the model, step 2."],
  text_added: [{ run: 1, text: "heron" }, "The agent wrote 5 characters, kept in 1 entry."],
  reasoning_added: [{ run: 1, text: "hm" }, "The agent wrote 2 characters, kept in 1 entry."],
  call_drafted: [{ run: 1, call: 1, tool: "clock", arguments: "" }, "The agent prepared to use clock."],
  call_asked: [{ run: 1, call: 1, tool: "clock", arguments: "{}" }, "The agent used clock."],
  call_finished: [{ run: 1, call: 1, outcome: { status: "ok", content: "" } }, "The tool answered."],
  usage_reported: [
    { run: 1, usage: { input_tokens: 12, output_tokens: 3 } },
    "The model read 12 tokens and wrote 3.",
  ],
  request_billed: [
    { run: 1, purpose: "title", usage: { input_tokens: 12, output_tokens: 3 } },
    "The model was asked for a title. It read 12 tokens and wrote 3.",
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
  recovery_attempted: [{ run: 1, turn: 1, attempts: 2 }, "The server looked for more of the output, time 2."],
  recovery_settled: [{ run: 1, turn: 1, outcome: "recovered" }, "The output was recovered from the journal."],
  context_compacted: [
    { summary: "birds", through: 1 },
    "The agent reads a summary of older turns from now on. You still see it all.",
  ],
  entries_set_aside: [{ count: 2 }, "2 damaged entries were set aside. The rest is intact."],
  resume_marked: [{ reason: "crash" }, "The next turn is told of the interruption."],
  resume_cleared: [{}, "The interruption need not be told any more."],
  memory_owner_set: [{ owner: null }, "Nothing is taken into memory from now on."],
  memory_reassigned: [{ first: 1, last: 2, to: "notes" }, "Turns that wait for memory go to notes."],
  memory_commit_started: [
    { first: 1, last: 2, owner: "notes" },
    "The agent began to take turns into memory.",
  ],
  memory_commit_accepted: [{ commit: 1, task: "t" }, "The memory took the turns and works on them."],
  memory_commit_ended: [{ commit: 1, first: 1, last: 2, outcome: "done" }, "The turns are in memory."],
  delivery_owed: [
    { turn: 1, answer: 2, to: { chat: "c", message: "m", peer: "7", sender: "Anna" } },
    "The answer goes to the chat with Anna.",
  ],
  delivery_attempted: [{ answer: 2, part: 0 }, "Message 1 of the answer goes out."],
  delivery_unsent: [{ answer: 2, part: 0 }, "It was not sent yet; the platform did not take it."],
  part_delivered: [{ answer: 2, part: 1, receipt: "9" }, "Message 2 of the answer arrived."],
  chat_notified: [{ answer: 2, run: 3 }, "The chat was told that the answer resumes."],
  delivery_ended: [{ answer: 2, outcome: "delivered" }, "The answer arrived in its chat."],
};

describe("every kind of event that the server describes", () => {
  const described = JSON.parse(readFileSync(join(import.meta.dirname, "../../openapi.json"), "utf8")) as {
    components: { schemas: { Event: { oneOf: { properties: object }[] } } };
  };
  const kinds = described.components.schemas.Event.oneOf.flatMap(({ properties }) => Object.keys(properties));
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
    words: "The answer could not be finished: no credit",
  });
  const advice = { failed: { error: "Cut off. Everything above is kept; Continue tries again." } };
  expect(ended(advice)).toMatchObject({
    words: "The answer could not be finished: Cut off. Everything above is kept.",
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
      words: `The answer was interrupted${words}. What was written is kept.`,
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
    /^The agent wrote 1.?200 characters, kept in 3 entries\.$/,
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
    "The agent went on by itself where it was interrupted.",
    "The answer was interrupted: the server stopped unexpectedly. What was written is kept.",
    "The server took the session up again (writer 3).",
    "The agent began to answer.",
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
