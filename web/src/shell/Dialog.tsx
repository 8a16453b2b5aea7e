// A question over the page: the browser's own dialog, with what can be answered at its end.

import { i18n } from "@lingui/core";
import { useEffect, useId, useRef, type FormEvent, type ReactNode } from "react";

import { Problem, useDoing } from "./doing";

interface Props {
  title: string;
  children: ReactNode;
  /** What the answer does; the dialog stays open and says why when it could not be done. */
  act?: (form: FormData) => Promise<unknown> | undefined;
  /** The word on the button that does it. */
  word?: string;
  /** A second, irreversible action. */
  or?: { word: string; act: () => Promise<unknown> };
  /** The sentence for when the server is unreachable. */
  failed?: string;
  /** The word on the button that leaves everything as it is. */
  cancel?: string;
  danger?: boolean;
  /** Called once it is gone, whatever was answered. */
  closed: () => void;
}

export function Dialog({ title, children, act, word, or, failed, cancel, danger = false, closed }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const leave = useRef<HTMLButtonElement>(null);
  const heading = useId();
  const doing = useDoing();
  useEffect(() => {
    if (dialog.current?.open === false) dialog.current.showModal();
    // A user who keeps typing must not confirm an irreversible action by accident.
    if (danger) leave.current?.focus();
  }, [danger]);
  const close = () => dialog.current?.close();
  const run = async (act: () => Promise<unknown> | undefined) => {
    if (doing.busy) return;
    if (await doing.run(failed ?? i18n.t("Couldn't save: the server is unreachable."), async () => act()))
      close();
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    if (act !== undefined) await run(() => act(form));
  };
  return (
    <dialog ref={dialog} className="ask" aria-labelledby={heading} onClose={closed}>
      <form onSubmit={(event) => void submit(event)}>
        <h2 id={heading}>{title}</h2>
        {children}
        <Problem of={doing} />
        <div className="do">
          {act !== undefined && (
            <button type="submit" className={danger ? "btn danger" : "btn pri"} disabled={doing.busy}>
              {doing.busy ? i18n.t("Saving…") : word}
            </button>
          )}
          {or !== undefined && (
            <button
              type="button"
              className="btn danger"
              disabled={doing.busy}
              onClick={() => void run(or.act)}
            >
              {or.word}
            </button>
          )}
          <button ref={leave} type="button" className="btn" onClick={close}>
            {cancel ?? i18n.t("Cancel")}
          </button>
        </div>
      </form>
    </dialog>
  );
}
