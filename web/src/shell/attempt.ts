// What a person asks for and does not get: why, in words, for eyes and ears.

import { i18n } from "@lingui/core";

import { Refused } from "../api/client";
import { announce } from "./announce";
import { ui } from "./ui";

/** Why something was not done: what the server said, or that nothing is heard of it. `done` is in the page's language. */
export function why(error: unknown, done: string): string {
  return error instanceof Refused
    ? error.detail
    : i18n.t("Not {done}: the server cannot be reached.", { done });
}

/** Lets it happen; says so under the header when it does not. */
export async function attempt(done: string, asked: Promise<unknown>): Promise<void> {
  try {
    await asked;
    ui.setState({ notice: undefined });
  } catch (error) {
    const notice = why(error, done);
    ui.setState({ notice });
    announce(notice);
  }
}
