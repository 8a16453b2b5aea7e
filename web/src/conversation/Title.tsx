import { i18n } from "@lingui/core";
import { Pencil } from "lucide-react";
import { useState } from "react";

import { ask } from "../api/client";
import { useCommands } from "../commands/registry";
import { why } from "../shell/attempt";
import { sessionName } from "../shell/names";
import { useKnown } from "../shell/use";

interface Props {
  session: string;
  /** Null for a session without a title; none until the session is loaded, so that nothing unknown is renamed. */
  title: string | null | undefined;
}

/** The session's name, renamed by a click. It changes when the server confirms. */
export function Title({ session, title }: Props) {
  const name = useKnown((known) => sessionName(known, session));
  const [draft, setDraft] = useState<string>();
  const [error, setError] = useState<string>();
  const keep = async () => {
    if (draft === undefined || draft.trim() === "" || draft === title) return setDraft(undefined);
    try {
      await ask("PATCH", `/sessions/${session}`, { body: { title: draft.trim() } });
      setDraft(undefined);
      setError(undefined);
    } catch (error) {
      setError(why(error, i18n.t("Couldn't rename the session: the server is unreachable.")));
    }
  };
  const rename = () => setDraft(title ?? "");
  useCommands([
    {
      id: "session.rename",
      group: "session",
      title: () => i18n.t("Rename"),
      when: () => title !== undefined,
      run: rename,
    },
  ]);
  if (draft !== undefined) {
    return (
      <form
        className="grow rename"
        onSubmit={(event) => {
          event.preventDefault();
          void keep();
        }}
      >
        <h1 className="sr">{name}</h1>
        <input
          dir="auto"
          aria-label={i18n.t("Session name")}
          value={draft}
          autoFocus
          onChange={(event) => setDraft(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setDraft(undefined)}
          onBlur={() => void keep()}
        />
        {error !== undefined && <span role="alert">{error}</span>}
      </form>
    );
  }
  return (
    <div className="grow titled">
      <h1 className="clip" dir="auto">
        {name}
      </h1>
      {title !== undefined && (
        <button type="button" className="icon" aria-label={i18n.t("Rename")} onClick={rename}>
          <Pencil aria-hidden="true" />
        </button>
      )}
    </div>
  );
}
