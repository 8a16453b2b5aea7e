import { useCallback, useState } from "react";

function place(session: string): string {
  return `draft:${session}`;
}

/** What is being written in a session, kept on this device with every key. */
export function useDraft(session: string): [string, (text: string) => void, boolean] {
  const [draft, show] = useState(() => localStorage.getItem(place(session)) ?? "");
  const [kept, setKept] = useState(true);
  const write = useCallback(
    (text: string) => {
      show(text);
      try {
        if (text === "") localStorage.removeItem(place(session));
        else localStorage.setItem(place(session), text);
        setKept(true);
      } catch {
        // No room on the device: the text is still in the field.
        setKept(false);
      }
    },
    [session],
  );
  return [draft, write, kept];
}
