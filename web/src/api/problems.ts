// One sentence or two per API error code, in the language of the page. The server's `detail` is English and is not shown.

import { i18n } from "@lingui/core";

import { Refused, type Schemas } from "./client";

export type ErrorCode = Schemas["ErrorCode"];

/** Texts for codes that mean something more specific to one action, such as a wrong password. */
export type Reasons = Partial<Record<ErrorCode, string>>;

/**
 * Returns what happened, what is safe and what to do, for a failed request. `here` replaces the texts of codes that the
 * action knows more about.
 */
export function problemText(error: unknown, here?: Reasons): string {
  return error instanceof Refused ? codeText(error.code, here) : unreachableText();
}

/** Returns the text for a request that the server did not answer. */
export function unreachableText(): string {
  return i18n.t("Can't reach the server. Check your connection and try again.");
}

/** Returns the text for an error code. A newer server may send a code that this page does not know. */
export function codeText(code: string, here: Reasons = {}): string {
  if (isKnown(code)) return here[code] ?? TEXTS[code]();
  return i18n.t("The server couldn't complete this request. Reload the page and try again.");
}

function isKnown(code: string): code is ErrorCode {
  return Object.hasOwn(TEXTS, code);
}

const TEXTS: Record<ErrorCode, () => string> = {
  another_log: () =>
    i18n.t("This device's copy of the session is out of date. Reload the page to show the server's copy."),
  another_user: () =>
    i18n.t("Another user signed in to this browser, so nothing was changed. Reload the page."),
  attachment_not_found: () =>
    i18n.t("An attachment is no longer on the server, so nothing was sent. Attach the file again."),
  bad_model: () =>
    i18n.t(
      "These model settings can't be used. Check the base URL, model ID, API key and options; nothing was saved.",
    ),
  bad_name: () => i18n.t("This name can't be used, and nothing was saved. Choose a shorter or simpler one."),
  bad_passkey: () =>
    i18n.t("This passkey is invalid or already added. Nothing was changed; try another passkey."),
  bad_password: () => i18n.t("A password needs 10 to 200 characters. Nothing was saved; choose another one."),
  bad_place: () =>
    i18n.t(
      "A backup can't be written to this folder. Enter the full path of a new folder outside the data directory.",
    ),
  bad_request: () =>
    i18n.t("The server couldn't read this request, so nothing was changed. Reload the page and try again."),
  bad_setting: () => i18n.t("This value isn't allowed, so nothing was saved. Enter another one."),
  bad_tag: () => i18n.t("A tag needs 1 to 40 visible characters. The session's tags were not changed."),
  bad_title: () => i18n.t("This title is empty or too long, so it wasn't saved. Enter another one."),
  beyond_end: () =>
    i18n.t(
      "This device's copy of the session is ahead of the server's. Reload the page to show the server's copy.",
    ),
  busy: () => i18n.t("Another job is running, so this one wasn't started. Try again when it has finished."),
  ceremony_over: () => i18n.t("The passkey request expired, so nothing was changed. Start again."),
  damaged: () =>
    i18n.t(
      "Part of this session's log is damaged. Everything before the damage can still be read; ask an owner to restore a backup.",
    ),
  doubtful: () =>
    i18n.t("The server couldn't confirm whether this was saved. Check the result before you try again."),
  draft_changed: () =>
    i18n.t(
      "The draft was changed on another device, so this version wasn't saved. The newer one is loading.",
    ),
  empty_message: () => i18n.t("Nothing was sent. Write a message or attach a file first."),
  forbidden: () => i18n.t("You don't have permission to do this, so nothing was changed. Ask an owner."),
  foreign_host: () =>
    i18n.t(
      "The server doesn't accept this address. Use localhost or a host listed under `hosts` in its configuration.",
    ),
  foreign_origin: () =>
    i18n.t(
      "The server rejected a request that seemed to come from another site. Reload the page and try again.",
    ),
  internal: () => i18n.t("Something went wrong on the server. Everything already saved is safe; try again."),
  key_reused: () =>
    i18n.t(
      "This request was already used for something else, so nothing was changed. Reload the page and try again.",
    ),
  last_owner: () =>
    i18n.t(
      "At least one active owner is required, so nothing was changed. Make another user an owner first.",
    ),
  message_too_long: () =>
    i18n.t("This message is too long to send. Shorten it, or attach the text as a file."),
  method_not_allowed: () => i18n.t("The server doesn't support this action. Reload the page to update it."),
  moved: () => i18n.t("Another server node is taking over this session. Try again in a moment."),
  name_taken: () => i18n.t("This name is already in use, so nothing was saved. Choose another one."),
  no_passkeys_here: () =>
    i18n.t("Passkeys don't work at an IP address. Open this page by its host name and try again."),
  no_such_answer: () =>
    i18n.t("This answer is no longer available. Reload the page to show the current ones."),
  no_such_route: () => i18n.t("The server doesn't support this action. Reload the page to update it."),
  no_such_thing: () => i18n.t("This item no longer exists. Reload the page to show the current list."),
  no_such_turn: () =>
    i18n.t(
      "This turn is too old to change or no longer exists. Create a branch to continue from an earlier point.",
    ),
  not_authorised: () => i18n.t("You're signed out, so nothing was changed. Sign in and try again."),
  not_queued: () => i18n.t("This message is no longer in the queue. The agent may already be working on it."),
  not_ready: () => i18n.t("The server is starting or stopping. Try again in a moment."),
  not_scratch: () =>
    i18n.t("Only a session tagged “scratch” can be crashed on purpose. Nothing was changed."),
  nothing_to_compact: () =>
    i18n.t(
      "There's nothing to compact. Earlier turns are already summarized, or the agent is still writing.",
    ),
  nothing_to_continue: () =>
    i18n.t("There's nothing to continue. The answer is complete or still being written."),
  nothing_to_put_back: () =>
    i18n.t("There's nothing to redo. If the agent is still writing, stop it first and try again."),
  nothing_to_retry: () => i18n.t("There's no answer to retry. Send a message first."),
  nothing_to_undo: () => i18n.t("There's no turn to undo. Nothing was changed."),
  on_postgres: () =>
    i18n.t(
      "Sessions are stored in PostgreSQL, so they aren't verified here. Every read checks them instead.",
    ),
  project_not_found: () =>
    i18n.t("This project no longer exists, so nothing was changed. Choose another one."),
  queue_full: () =>
    i18n.t(
      "The queue is full, so this message wasn't added. Wait for an answer, or delete a queued message.",
    ),
  runs_held: () =>
    i18n.t("The server is stopping or its disk is full, so no answer can start. Try again later."),
  session_exists: () => i18n.t("A session with this ID already exists. Start a new session and try again."),
  session_not_found: () =>
    i18n.t("This session may have been deleted, or it belongs to another user. Choose another one."),
  set_in_environment: () =>
    i18n.t("This setting is set in the server's environment, so nothing was saved. Change it there."),
  set_in_file: () =>
    i18n.t(
      "This is set in the server's configuration file, so nothing was saved. Change it there and restart.",
    ),
  too_large: () => i18n.t("This is too large, so nothing was saved. Shorten it or choose a smaller file."),
  too_many: () => i18n.t("You've reached a limit, so nothing was changed. Wait a while, then try again."),
  too_many_attachments: () =>
    i18n.t("A message can have at most 32 attachments. Nothing was sent; remove some and try again."),
  too_many_ids: () =>
    i18n.t("This session has the maximum number of IDs, so none was added. Remove one and try again."),
  too_many_models: () =>
    i18n.t("You've reached the maximum number of models, so none was added. Delete one and try again."),
  too_many_projects: () =>
    i18n.t("You've reached the maximum number of projects, so none was added. Delete one and try again."),
  too_many_tags: () =>
    i18n.t("A session can have at most 20 tags, so none was added. Remove one and try again."),
  unavailable: () =>
    i18n.t("The server can't do this right now, so nothing was changed. Try again in a moment."),
  upload_not_found: () => i18n.t("This upload has expired, so the file wasn't saved. Attach it again."),
  wrong_offset: () => i18n.t("The upload was interrupted. Remove the file and attach it again."),
};
