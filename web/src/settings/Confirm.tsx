import { i18n } from "@lingui/core";
import { useId, useRef } from "react";

import { Problem, useDoing } from "./asked";

interface Props {
  /** What the button says, and the one that does it. */
  word: string;
  /** The button by itself, where several of them say the same. */
  label?: string;
  question: string;
  /** What follows from it. */
  told: string;
  done: string;
  act: () => Promise<unknown>;
  disabled?: boolean;
}

/** Something that cannot be taken back is asked about once. */
export function Confirm({ word, label, question, told, done, act, disabled = false }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const doing = useDoing();
  const go = async () => {
    if (await doing.run(done, act)) dialog.current?.close();
  };
  return (
    <>
      <button
        type="button"
        className="btn sm"
        aria-label={label}
        disabled={disabled}
        onClick={() => dialog.current?.showModal()}
      >
        {word}
      </button>
      <dialog ref={dialog} className="confirm" aria-labelledby={heading}>
        <h2 id={heading}>{question}</h2>
        <p>{told}</p>
        <Problem of={doing} />
        <div className="do">
          <button type="button" className="btn" onClick={() => dialog.current?.close()}>
            {i18n.t("Cancel")}
          </button>
          <button type="button" className="btn danger" disabled={doing.busy} onClick={() => void go()}>
            {word}
          </button>
        </div>
      </dialog>
    </>
  );
}
