import { useState } from "react";

import { Dialog } from "../shell/Dialog";

interface Props {
  /** What the button says, and the one that does it. */
  word: string;
  /** The button by itself, where several of them say the same. */
  label?: string;
  question: string;
  /** What follows from it. */
  told: string;
  /** The sentence for when the server is unreachable. */
  failed: string;
  act: () => Promise<unknown>;
  disabled?: boolean;
}

/** Something that cannot be taken back is asked about once. */
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
