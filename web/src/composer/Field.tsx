// The message field. It is uncontrolled, so that a key re-renders nothing else, however long the text is.

import { i18n } from "@lingui/core";
import { useEffect, useLayoutEffect, useRef, useState, type KeyboardEvent } from "react";

import type { SessionDraft } from "./draft";
import { fit } from "./fit";

interface Props {
  draft: SessionDraft;
  placeholder: string;
  onKeyDown: (event: KeyboardEvent) => void;
  onFiles: (files: FileList) => void;
}

export function Field({ draft, placeholder, onKeyDown, onFiles }: Props) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [first] = useState(draft.text);
  /** The draft as last shown. Comparing with it is cheaper than reading the field. */
  const shown = useRef(first);
  useEffect(() => {
    // On a phone, focus would open the keyboard over the text.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [draft]);
  useLayoutEffect(() => {
    const area = field.current;
    if (area === null) return;
    const show = () => {
      if (draft.text === shown.current) return;
      shown.current = draft.text;
      replace(area, draft.text);
      fit(area);
    };
    fit(area);
    show();
    return draft.subscribe(show);
  }, [draft]);
  return (
    <textarea
      dir="auto"
      ref={field}
      aria-label={i18n.t("Message")}
      placeholder={placeholder}
      rows={1}
      defaultValue={first}
      onInput={(event) => {
        const area = event.currentTarget;
        shown.current = area.value;
        draft.write(shown.current);
        fit(area);
      }}
      onKeyDown={onKeyDown}
      onPaste={(event) => {
        if (event.clipboardData.files.length === 0) return;
        event.preventDefault();
        onFiles(event.clipboardData.files);
      }}
    />
  );
}

/** Replaces the text of a field and keeps the caret at the same place in the text that was already there. */
function replace(area: HTMLTextAreaElement, text: string): void {
  const { value, selectionStart, selectionEnd } = area;
  const before = text.endsWith(value) ? text.length - value.length : 0;
  const isMoved = value !== "" && (before > 0 || text.startsWith(value));
  area.value = text;
  if (isMoved) area.setSelectionRange(selectionStart + before, selectionEnd + before);
}
