import { useState } from "react";

import { Dialog } from "../shell/Dialog";

interface Props {
  /** The label of the button, and of the confirming button in the dialog. */
  word: string;
  /** The button's accessible name, if other buttons have the same label. */
  label?: string;
  question: string;
  /** The consequences. */
  told: string;
  /** The sentence for when the server is unreachable. */
  failed: string;
  act: () => Promise<unknown>;
  disabled?: boolean;
}

/** A button that asks for confirmation before an irreversible action. */
export function Confirm({ word, label, question, told, failed, act, disabled = false }: Props) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button
        type="button"
        className="btn sm"
        aria-label={label}
        disabled={disabled}
        onClick={() => setAsking(true)}
      >
        {word}
      </button>
      {asking && (
        <Dialog title={question} word={word} failed={failed} act={act} danger closed={() => setAsking(false)}>
          <p>{told}</p>
        </Dialog>
      )}
    </>
  );
}
