// Taking turns back, and putting them back. The log says when it happened.

import { i18n } from "@lingui/core";

import { ask } from "../api/client";
import { attempt } from "../shell/attempt";

export function takeBack(session: string, from: number): void {
  void attempt(
    i18n.t("Couldn't undo the turn: the server is unreachable."),
    ask("POST", `/sessions/${session}/undo`, { body: { from } }),
  );
}

export function putBack(session: string): Promise<void> {
  return attempt(
    i18n.t("Couldn't redo the turn: the server is unreachable."),
    ask("POST", `/sessions/${session}/put-back`),
  );
}
