// Something to read beside the page: the browser's own dialog at its edge.

import { i18n } from "@lingui/core";
import { X } from "lucide-react";
import { useEffect, useId, useRef, type ReactNode } from "react";

interface Props {
  title: string;
  /** A class for what is special about what it shows. */
  kind?: string;
  closed: () => void;
  children: ReactNode;
}

export function Drawer({ title, kind, closed, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useId();
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog
      ref={dialog}
      className={kind === undefined ? "drawer" : `drawer ${kind}`}
      aria-labelledby={heading}
      onClose={closed}
    >
      <header className="head">
        <h2 id={heading} className="grow">
          {title}
        </h2>
        <button
          type="button"
          className="icon"
          aria-label={i18n.t("Close")}
          onClick={() => dialog.current?.close()}
        >
          <X aria-hidden="true" />
        </button>
      </header>
      <div className="body">{children}</div>
    </dialog>
  );
}
