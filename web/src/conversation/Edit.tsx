import { i18n } from "@lingui/core";
import { useState } from "react";
import { useLocation } from "wouter";

import type { Message } from "../log/types";
import { why } from "../shell/attempt";
import { ui } from "../shell/ui";
import { sayDifferently } from "./edit";

interface Props {
  session: string;
  turn: number;
  message: Message;
}

/** Edits a message below the original. Sending creates a branch; the original is unchanged. */
export function Edit({ session, turn, message }: Props) {
  const [text, setText] = useState(message.text);
  const [sending, setSending] = useState(false);
  const [problem, setProblem] = useState<string>();
  const [, go] = useLocation();
  const close = () => ui.setState({ editing: undefined });
  const send = async () => {
    if (text.trim() === "" || sending) return;
    setSending(true);
    try {
      const made = await sayDifferently(session, turn, message, text);
      close();
      go(`/s/${made}`);
    } catch (error) {
      setSending(false);
      setProblem(why(error, i18n.t("Couldn't send: the server is unreachable.")));
    }
  };
  return (
    <form
      className="editing"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        dir="auto"
        aria-label={i18n.t("Edit message")}
        value={text}
        rows={Math.min(12, text.split("\n").length + 1)}
        autoFocus
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Escape") {
            event.preventDefault();
            close();
          } else if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
            event.preventDefault();
            void send();
          }
        }}
      />
      <div className="do">
        <button type="submit" className="btn sm" disabled={sending || text.trim() === ""}>
          {sending ? i18n.t("Saving…") : i18n.t("Send in a new branch")}
        </button>
        <button type="button" className="btn sm ghost" onClick={close}>
          {i18n.t("Cancel")}
        </button>
        <span className="dim">{i18n.t("This session stays unchanged.")}</span>
        {problem !== undefined && <span role="alert">{problem}</span>}
      </div>
    </form>
  );
}
