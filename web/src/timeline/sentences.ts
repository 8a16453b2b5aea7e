// One sentence per kind of event. Unknown kinds come from a newer version.

import { i18n } from "@lingui/core";

import { withoutContinue } from "../conversation/ends";
import { retryWords } from "../conversation/retry";
import type { DeliveryOutcome, Event, EventOf, InterruptReason, Message, RunEnd } from "../log/types";
import { variant } from "../log/variants";
import { countOf, newerWords } from "../shell/words";

/** The subject of an entry, used by filters. */
export type About = "person" | "agent" | "server" | "trouble";

export interface Sentence {
  about: About;
  words: string;
  /** The text of a message, shown below the sentence. */
  quote?: string;
  /** The user's device. */
  device?: string;
}

/** Streamed text: its size, without its content. */
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

/** Adds a message's text and device to a sentence. */
function by(words: string, message: Message): Sentence {
  return {
    ...person(words),
    ...(message.text === "" ? {} : { quote: message.text }),
    ...(message.device == null ? {} : { device: message.device }),
  };
}

const SENTENCES: Sentences = {
  session_created: ({ title }) =>
    person(title == null ? i18n.t("Session created.") : i18n.t("Session created as “{title}”.", { title })),
  session_branched: () => person(i18n.t("Session created as a branch of another session.")),
  session_renamed: ({ title }) => person(i18n.t("You named the session “{title}”.", { title })),
  title_generated: ({ title }) => agent(i18n.t("The agent suggested the name “{title}”.", { title })),
  flag_set: ({ flag, on }) => flagWords(flag, on),
  tags_set: ({ tags }) =>
    person(
      tags.length === 0
        ? i18n.t("You removed all tags.")
        : i18n.t("You set the tags to {tags}.", { tags: tags.join(", ") }),
    ),
  project_set: ({ project }) =>
    person(
      project == null
        ? i18n.t("You removed the session from its project.")
        : i18n.t("You moved the session to a project."),
    ),
  id_added: () => server(i18n.t("Session address added.")),
  id_removed: () => server(i18n.t("Session address removed.")),
  message_posted: ({ message, mode }) => by(postedWords(mode), message),
  queued_edited: ({ message }) => by(i18n.t("You edited a queued message."), message),
  queued_removed: () => person(i18n.t("You removed a queued message.")),
  queue_paused: () =>
    person(
      i18n.t(
        "You pressed Stop. Queued messages are paused, and an interrupted answer won't resume automatically.",
      ),
    ),
  queue_resumed: () => person(i18n.t("You resumed the queue.")),
  message_steered: () => person(i18n.t("A message was added to the running answer.")),
  message_edited: ({ message }) => by(i18n.t("You edited a message."), message),
  turns_undone: () => person(i18n.t("You undid one or more turns. They stay in History.")),
  turns_put_back: () => person(i18n.t("You redid the last undone turns.")),
  session_cleared: () => person(i18n.t("You cleared the session. Its turns stay in History.")),
  answer_chosen: () => person(i18n.t("You chose another version of an answer.")),
  run_started: ({ cause }) => startedWords(cause),
  step_started: ({ step }) => agent(i18n.t("Model request, step {step}.", { step: countOf(step) })),
  text_added: ({ text }) => agent(writtenWords(1, text.length)),
  reasoning_added: ({ text }) => agent(writtenWords(1, text.length)),
  call_drafted: ({ tool }) => agent(i18n.t("The agent is preparing to call {tool}.", { tool })),
  call_asked: ({ tool }) => agent(i18n.t("The agent called {tool}.", { tool })),
  call_finished: ({ outcome }) =>
    outcome.status === "error"
      ? trouble(i18n.t("The tool returned an error."))
      : agent(i18n.t("The tool returned a result.")),
  usage_reported: ({ usage }) => agent(i18n.t("{read} tokens in, {wrote} out.", countsOf(usage))),
  request_billed: ({ purpose, usage }) =>
    agent(
      purpose === "title"
        ? i18n.t("Title request: {read} tokens in, {wrote} out.", countsOf(usage))
        : i18n.t("Summary request: {read} tokens in, {wrote} out.", countsOf(usage)),
    ),
  provider_part_added: () => agent(i18n.t("The provider attached data for later requests.")),
  retry_scheduled: ({ reason, wait_ms }) => trouble(retryWords(reason, Math.ceil(wait_ms / 1000))),
  run_ended: ({ end }) => endedWords(end),
  recovery_attempted: ({ attempts }) =>
    trouble(i18n.t("Recovery attempt {attempts}.", { attempts: countOf(attempts) })),
  recovery_settled: ({ outcome }) =>
    trouble(
      outcome === "recovered"
        ? i18n.t("The output was recovered.")
        : i18n.t("No more output could be recovered. Everything recovered so far is saved."),
    ),
  context_compacted: () =>
    agent(i18n.t("The agent now sees a summary of older turns. You still see the full text.")),
  entries_set_aside: ({ count }) =>
    trouble(
      i18n.t(
        "{count, plural, one {# damaged entry was set aside. The rest is intact.} other {# damaged entries were set aside. The rest is intact.}}",
        { count },
      ),
    ),
  resume_marked: () => server(i18n.t("The model will be told about the interruption.")),
  resume_cleared: () => server(i18n.t("Interruption notice cleared.")),
  memory_owner_set: ({ owner }) =>
    server(
      owner == null
        ? i18n.t("Memory turned off for this session.")
        : i18n.t("Completed turns are now saved to the memory {owner}.", { owner }),
    ),
  memory_reassigned: ({ to }) => server(i18n.t("Turns pending for memory were reassigned to {to}.", { to })),
  memory_commit_started: () => server(i18n.t("Saving turns to memory started.")),
  memory_commit_accepted: () => server(i18n.t("The memory accepted the turns and is processing them.")),
  memory_commit_ended: ({ outcome }) => {
    if (outcome === "done") return server(i18n.t("The turns were saved to memory."));
    const error = variant(outcome, "failed")?.error;
    return trouble(
      error === undefined
        ? i18n.t("Couldn't save the turns to memory. They remain pending.")
        : i18n.t("Couldn't save the turns to memory: {error}. They remain pending.", { error }),
    );
  },
  delivery_owed: ({ to }) =>
    server(i18n.t("The answer will be sent to the chat with {who}.", { who: to.sender ?? to.peer })),
  delivery_attempted: ({ part }) =>
    server(i18n.t("Sending message {part} of the answer.", { part: countOf(part + 1) })),
  delivery_unsent: () => trouble(i18n.t("Not sent yet: the platform didn't accept the message.")),
  part_delivered: ({ part }) =>
    server(i18n.t("Message {part} of the answer was delivered.", { part: countOf(part + 1) })),
  chat_notified: () => server(i18n.t("The chat was notified that the answer resumes.")),
  delivery_ended: ({ outcome }) => deliveredWords(outcome),
};

function flagWords(flag: EventOf<"flag_set">["flag"], on: boolean): Sentence {
  switch (flag) {
    case "pinned":
      return person(on ? i18n.t("You pinned the session.") : i18n.t("You unpinned the session."));
    case "archived":
      return person(on ? i18n.t("You archived the session.") : i18n.t("You unarchived the session."));
    case "trashed":
      return person(
        on ? i18n.t("You moved the session to trash.") : i18n.t("You restored the session from trash."),
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
      return agent(i18n.t("The agent retried the answer at your request."));
    case "continue":
      return agent(i18n.t("The agent continued the answer at your request."));
    case "resume":
      return trouble(i18n.t("The agent resumed the interrupted answer automatically."));
    default:
      return agent(i18n.t("The agent started answering."));
  }
}

function endedWords(end: RunEnd): Sentence {
  if (end === "completed") return agent(i18n.t("The answer is complete."));
  const failed = variant(end, "failed");
  if (failed !== undefined)
    return trouble(i18n.t("The answer failed: {error}", { error: withoutContinue(failed.error) }));
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
  return server(i18n.t("The answer ended. Reload the page to show why."));
}

function interruptedWords(reason: InterruptReason): string {
  switch (reason) {
    case "crash":
      return i18n.t(
        "The answer was interrupted: the server stopped unexpectedly. Everything written so far is saved.",
      );
    case "shutdown_timeout":
      return i18n.t(
        "The answer was interrupted: the server was shut down. Everything written so far is saved.",
      );
    case "restart_timeout":
      return i18n.t(
        "The answer was interrupted: the server was restarted. Everything written so far is saved.",
      );
    case "spool_full":
      return i18n.t(
        "The answer was interrupted: the storage was unavailable. Everything written so far is saved.",
      );
    case "lost_node":
      return i18n.t(
        "The answer was interrupted: the server running it was lost. Everything written so far is saved.",
      );
    default:
      return i18n.t("The answer was interrupted. Everything written so far is saved.");
  }
}

function writtenWords(entries: number, characters: number): string {
  return i18n.t(
    "The agent wrote {characters} characters, saved in {entries, plural, one {# entry} other {# entries}}.",
    {
      characters: countOf(characters),
      entries,
    },
  );
}

/** Returns the sentence of any event. */
export function sentence(event: object): Sentence {
  const [kind, said] = Object.entries(event)[0] ?? ["", undefined];
  if (kind === "streamed") {
    const { entries, characters } = said as Streamed;
    return agent(writtenWords(entries, characters));
  }
  // Own properties only: an unknown kind may have the name of an inherited one, such as `constructor`.
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

/** Returns the sentence for a new writer of the session. */
export function tookUp(writer: number): string {
  return i18n.t("Session reopened by writer {writer}.", { writer });
}

function deliveredWords(outcome: DeliveryOutcome): Sentence {
  if (outcome === "delivered") return server(i18n.t("The answer was delivered to its chat."));
  if (outcome === "doubtful")
    return trouble(i18n.t("The answer may not have reached its chat. It was sent three times."));
  const refused = variant(outcome, "refused");
  if (refused !== undefined)
    return trouble(i18n.t("The platform rejected the answer: {reason}", { reason: refused.reason }));
  const withdrawn = variant(outcome, "withdrawn");
  if (withdrawn !== undefined)
    return server(i18n.t("The answer was not sent to the chat: {reason}", { reason: withdrawn.reason }));
  return server(i18n.t("The outcome of the delivery is unknown. Reload the page to show it."));
}
