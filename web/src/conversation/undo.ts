// Taking turns back, and putting them back. The log says when it happened.

import { ask } from "../api/client";
import { attempt } from "../shell/attempt";

export function takeBack(session: string, from: number): void {
  void attempt("taken back", ask("POST", `/sessions/${session}/undo`, { body: { from } }));
}

export function putBack(session: string): Promise<void> {
  return attempt("put back", ask("POST", `/sessions/${session}/put-back`));
}
