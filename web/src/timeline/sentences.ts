// Every kind of event as a sentence. A kind that is not here was written by a newer version.

import { i18n } from "@lingui/core";

import { withoutContinue } from "../conversation/ends";
import { retryWords } from "../conversation/retry";
import type { DeliveryOutcome, Event, EventOf, InterruptReason, Message, RunEnd } from "../log/types";
import { variant } from "../log/variants";
import { countOf, newerWords } from "../shell/words";

/** Who or what an entry is about: what filters go by. */
export type About = "person" | "agent" | "server" | "trouble";

export interface Sentence {
  about: About;
  words: string;
  /** Somebody's own words, beside it. */
  quote?: string;
  /** Which of the person's devices did it. */
  device?: string;
}

/** Streamed text as the server tells of it here: how much, not what. */
export interface Streamed {
  run: number;
  entries: number;
  characters: number;
}

type KeysOf<T> = T extends unknown ? keyof T : never;
export type Kind = KeysOf<Event>;

type Sentences = { [K in Kind]: (said: EventOf<K>) => Sentence };

const person = (words: string): Sentence => ({ about: "person", words });
const agent = (words: string): Sentence => ({ about: "agent", words });
const server = (words: string): Sentence => ({ about: "server", words });
const trouble = (words: string): Sentence => ({ about: "trouble", words });

/** Somebody's message, and where it was written. */
function by(words: string, message: Message): Sentence {
  return {
    ...person(words),
    ...(message.text === "" ? {} : { quote: message.text }),
    ...(message.device == null ? {} : { device: message.device }),
  };
}

const SENTENCES: Sentences = {
  session_created: ({ title }) =>
    person(
      title == null ? i18n.t("The session began.") : i18n.t("The session began as “{title}”.", { title }),
    ),
  session_branched: () => person(i18n.t("The session began as a branch of another one.")),
  session_renamed: ({ title }) => person(i18n.t("You named the session “{title}”.", { title })),
  title_generated: ({ title }) => agent(i18n.t("The agent suggested the name “{title}”.", { title })),
  flag_set: ({ flag, on }) => flagWords(flag, on),
  tags_set: ({ tags }) =>
    person(
      tags.length === 0
        ? i18n.t("You took all tags away.")
        : i18n.t("You tagged the session {tags}.", { tags: tags.join(", ") }),
    ),
  project_set: ({ project }) =>
    person(
      project == null
        ? i18n.t("You took the session out of its project.")
        : i18n.t("You put the session in a project."),
    ),
  id_added: () => server(i18n.t("Another address leads here from now on.")),
  id_removed: () => server(i18n.t("An address no longer leads here.")),
  message_posted: ({ message, mode }) => by(postedWords(mode), message),
  queued_edited: ({ message }) => by(i18n.t("You changed a waiting message."), message),
  queued_removed: () => person(i18n.t("You took a waiting message back.")),
  queue_paused: () =>
    person(
      i18n.t("You stopped. Waiting messages are paused, and an interrupted answer won't resume by itself."),
    ),
  queue_resumed: () => person(i18n.t("You resumed the waiting messages.")),
  message_steered: () => person(i18n.t("A message went into the running answer.")),
  message_edited: ({ message }) => by(i18n.t("You said a message differently."), message),
  turns_undone: () => person(i18n.t("You took turns back. They stay in History.")),
  turns_put_back: () => person(i18n.t("You put back what was taken back last.")),
  session_cleared: () => person(i18n.t("You cleared the session. What was there stays in History.")),
  answer_chosen: () => person(i18n.t("You chose another version of an answer.")),
  run_started: ({ cause }) => startedWords(cause),
  step_started: ({ step }) =>
    agent(i18n.t("The agent asked the model, step {step}.", { step: countOf(step) })),
  text_added: ({ text }) => agent(writtenWords(1, text.length)),
  reasoning_added: ({ text }) => agent(writtenWords(1, text.length)),
  call_drafted: ({ tool }) => agent(i18n.t("The agent prepared to use {tool}.", { tool })),
  call_asked: ({ tool }) => agent(i18n.t("The agent used {tool}.", { tool })),
  call_finished: ({ outcome }) =>
    outcome.status === "error"
      ? trouble(i18n.t("The tool answered with an error."))
      : agent(i18n.t("The tool answered.")),
  usage_reported: ({ usage }) =>
    agent(i18n.t("The model read {read} tokens and wrote {wrote}.", countsOf(usage))),
  request_billed: ({ purpose, usage }) =>
    agent(
      purpose === "title"
        ? i18n.t("The model was asked for a title. It read {read} tokens and wrote {wrote}.", countsOf(usage))
        : i18n.t(
            "The model was asked for a summary. It read {read} tokens and wrote {wrote}.",
            countsOf(usage),
          ),
    ),
  provider_part_added: () => agent(i18n.t("The provider attached data for later requests.")),
  retry_scheduled: ({ reason, wait_ms }) => trouble(retryWords(reason, Math.ceil(wait_ms / 1000))),
  run_ended: ({ end }) => endedWords(end),
  recovery_attempted: ({ attempts }) =>
    trouble(
      i18n.t("The server looked for more of the output, time {attempts}.", { attempts: countOf(attempts) }),
    ),
  recovery_settled: ({ outcome }) =>
    trouble(
      outcome === "recovered"
        ? i18n.t("The output was recovered from the journal.")
        : i18n.t("No more of the output is there to recover. What could be read is kept."),
    ),
  context_compacted: () =>
    agent(i18n.t("The agent reads a summary of older turns from now on. You still see it all.")),
  entries_set_aside: ({ count }) =>
    trouble(
      i18n.t(
        "{count, plural, one {# damaged entry was set aside. The rest is intact.} other {# damaged entries were set aside. The rest is intact.}}",
        { count },
      ),
    ),
  resume_marked: () => server(i18n.t("The next turn is told of the interruption.")),
  resume_cleared: () => server(i18n.t("The interruption need not be told any more.")),
  memory_owner_set: ({ owner }) =>
    server(
      owner == null
        ? i18n.t("Nothing is taken into memory from now on.")
        : i18n.t("What is completed from now on goes to the memory {owner}.", { owner }),
    ),
  memory_reassigned: ({ to }) => server(i18n.t("Turns that wait for memory go to {to}.", { to })),
  memory_commit_started: () => server(i18n.t("The agent began to take turns into memory.")),
  memory_commit_accepted: () => server(i18n.t("The memory took the turns and works on them.")),
  memory_commit_ended: ({ outcome }) => {
    if (outcome === "done") return server(i18n.t("The turns are in memory."));
    const error = variant(outcome, "failed")?.error;
    return trouble(
      error === undefined
        ? i18n.t("The turns are not in memory yet. They wait in the journal.")
        : i18n.t("The turns are not in memory yet: {error}. They wait in the journal.", { error }),
    );
  },
  delivery_owed: ({ to }) =>
    server(i18n.t("The answer goes to the chat with {who}.", { who: to.sender ?? to.peer })),
  delivery_attempted: ({ part }) =>
    server(i18n.t("Message {part} of the answer goes out.", { part: countOf(part + 1) })),
  delivery_unsent: () => trouble(i18n.t("It was not sent yet; the platform did not take it.")),
  part_delivered: ({ part }) =>
    server(i18n.t("Message {part} of the answer arrived.", { part: countOf(part + 1) })),
  chat_notified: () => server(i18n.t("The chat was told that the answer resumes.")),
  delivery_ended: ({ outcome }) => deliveredWords(outcome),
};

function flagWords(flag: EventOf<"flag_set">["flag"], on: boolean): Sentence {
  switch (flag) {
    case "pinned":
      return person(on ? i18n.t("You pinned the session.") : i18n.t("You unpinned the session."));
    case "archived":
      return person(
        on ? i18n.t("You archived the session.") : i18n.t("You took the session out of the archive."),
      );
    case "trashed":
      return person(
        on ? i18n.t("You moved the session to the trash.") : i18n.t("You took the session out of the trash."),
      );
    default:
      return unknown();
  }
}

function postedWords(mode: EventOf<"message_posted">["mode"]): string {
  if (mode === "steer") return i18n.t("You sent a message to steer the agent.");
  return mode === "interrupt" ? i18n.t("You interrupted with a message.") : i18n.t("You sent a message.");
}

function startedWords(cause: EventOf<"run_started">["cause"]): Sentence {
  switch (cause) {
    case "retry":
      return agent(i18n.t("The agent began another answer, as you asked."));
    case "continue":
      return agent(i18n.t("The agent went on with the answer, as you asked."));
    case "resume":
      return trouble(i18n.t("The agent went on by itself where it was interrupted."));
    default:
      return agent(i18n.t("The agent began to answer."));
  }
}

function endedWords(end: RunEnd): Sentence {
  if (end === "completed") return agent(i18n.t("The answer is complete."));
  const failed = variant(end, "failed");
  if (failed !== undefined)
    return trouble(
      i18n.t("The answer could not be finished: {error}", { error: withoutContinue(failed.error) }),
    );
  const stopped = variant(end, "stopped");
  if (stopped !== undefined) {
    const { by_message, device } = stopped;
    const words =
      by_message === true
        ? i18n.t("Your next message stopped the answer.")
        : i18n.t("You stopped the answer.");
    return { ...person(words), ...(device == null ? {} : { device }) };
  }
  const limit = variant(end, "output_limit");
  if (limit !== undefined) {
    const tokens = countOf(limit.tokens);
    return agent(i18n.t("The answer reached the output limit ({tokens} tokens).", { tokens }));
  }
  const interrupted = variant(end, "interrupted");
  if (interrupted !== undefined) return trouble(interruptedWords(interrupted.reason));
  return server(i18n.t("The answer ended in a way this version does not know."));
}

function interruptedWords(reason: InterruptReason): string {
  switch (reason) {
    case "crash":
      return i18n.t("The answer was interrupted: the server stopped unexpectedly. What was written is kept.");
    case "shutdown_timeout":
      return i18n.t("The answer was interrupted: the server was shut down. What was written is kept.");
    case "restart_timeout":
      return i18n.t("The answer was interrupted: the server was restarted. What was written is kept.");
    case "spool_full":
      return i18n.t("The answer was interrupted: the storage was unavailable. What was written is kept.");
    case "lost_node":
      return i18n.t("The answer was interrupted: the server running it was lost. What was written is kept.");
    default:
      return i18n.t("The answer was interrupted. What was written is kept.");
  }
}

function writtenWords(entries: number, characters: number): string {
  return i18n.t(
    "The agent wrote {characters} characters, kept in {entries, plural, one {# entry} other {# entries}}.",
    {
      characters: countOf(characters),
      entries,
    },
  );
}

/** The sentence of an event, whatever it is. */
export function sentence(event: object): Sentence {
  const [kind, said] = Object.entries(event)[0] ?? ["", undefined];
  if (kind === "streamed") {
    const { entries, characters } = said as Streamed;
    return agent(writtenWords(entries, characters));
  }
  // Only what is ours: an event of a newer version may be called as what every object has.
  if (!Object.hasOwn(SENTENCES, kind)) return unknown();
  const tell = SENTENCES[kind as Kind] as (said: unknown) => Sentence;
  return tell(said);
}

function countsOf({ input_tokens, output_tokens }: EventOf<"usage_reported">["usage"]) {
  return { read: countOf(input_tokens), wrote: countOf(output_tokens) };
}

function unknown(): Sentence {
  return server(newerWords());
}

/** That another writer took the session up. */
export function tookUp(writer: number): string {
  return i18n.t("The server took the session up again (writer {writer}).", { writer });
}

function deliveredWords(outcome: DeliveryOutcome): Sentence {
  if (outcome === "delivered") return server(i18n.t("The answer arrived in its chat."));
  if (outcome === "doubtful")
    return trouble(i18n.t("It is not known whether the answer arrived in its chat; it was repeated."));
  const refused = variant(outcome, "refused");
  if (refused !== undefined)
    return trouble(i18n.t("The platform refused the answer: {reason}", { reason: refused.reason }));
  const withdrawn = variant(outcome, "withdrawn");
  if (withdrawn !== undefined)
    return server(i18n.t("The answer was not sent on: {reason}", { reason: withdrawn.reason }));
  return server(i18n.t("The delivery ended in a way this version does not know."));
}
