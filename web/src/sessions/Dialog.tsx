// A question over the page: the browser's own dialog, with what can be answered at its end.

import { i18n } from "@lingui/core";
import { useEffect, useId, useRef, useState, type FormEvent, type ReactNode } from "react";

import { why } from "../shell/attempt";
import { answered } from "./asked";

interface Props {
  title: string;
  children: ReactNode;
  /** What the answer does; the dialog stays open and says why when it could not be done. */
  act?: (form: FormData) => Promise<unknown> | undefined;
  /** The word on the button that does it. */
  word?: string;
  /** The past of that word, for when it was not done. */
  done?: string;
  /** The word on the button that leaves everything as it is. */
  cancel?: string;
  danger?: boolean;
}

export function Dialog({ title, children, act, word, done, cancel, danger = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => dialog.current?.close();
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (busy || act === undefined) return;
    setBusy(true);
    try {
      await act(new FormData(event.currentTarget));
      close();
    } catch (error) {
      setProblem(why(error, done ?? i18n.t("done")));
      setBusy(false);
    }
  };
  return (
    <dialog ref={dialog} className="ask" aria-labelledby={name} onClose={answered}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={name}>{title}</h2>
        {children}
        {problem !== undefined && (
          <p className="err" role="alert">
            {problem}
          </p>
        )}
        <div className="do">
          {act !== undefined && (
            <button type="submit" className={danger ? "btn danger" : "btn pri"} disabled={busy}>
              {busy ? i18n.t("Saving…") : word}
            </button>
          )}
          <button type="button" className="btn" onClick={close}>
            {cancel ?? i18n.t("Cancel")}
          </button>
        </div>
      </form>
    </dialog>
  );
}
