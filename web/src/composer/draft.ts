// What is being written in a session: on this device with every key, on the server a moment later, and from there on
// every other device.

import { useCallback, useEffect, useRef, useState } from "react";

import { ask, Refused } from "../api/client";
import { DEVICE } from "../live/store";
import { useKnown } from "../shell/use";
import { meet, type Written } from "./meet";

/** So long after the last key the server is told. */
const PAUSE = 500;
const AGAIN = 3_000;

export interface Draft {
  text: string;
  write: (text: string) => void;
  /** Where it is kept so far. */
  kept: "nowhere" | "here" | "server";
}

function remembered(session: string): Written {
  const read = (place: string) => localStorage.getItem(`${place}:${session}`) ?? "";
  return { text: read("draft"), base: read("draft-base") };
}

/** Throws when the device has no room. */
function remember(session: string, { text, base }: Written): void {
  const write = (place: string, text: string) => {
    if (text === "") localStorage.removeItem(`${place}:${session}`);
    else localStorage.setItem(`${place}:${session}`, text);
  };
  write("draft", text);
  write("draft-base", base);
}

export function useDraft(session: string): Draft {
  const [written, show] = useState(() => remembered(session));
  const [room, setRoom] = useState(true);
  // The server keeps no draft of a session that it does not know yet.
  const open = useKnown(({ link, fresh }) => link.kind === "open" && fresh[session] === undefined);
  const told = useKnown(({ drafts }) => drafts[session]);
  const newest = useRef(written);
  const put = useCallback(
    (next: Written) => {
      newest.current = next;
      show(next);
      try {
        remember(session, next);
        setRoom(true);
      } catch {
        // The text is still in the field.
        setRoom(false);
      }
    },
    [session],
  );
  const heard = useRef(told);
  useEffect(() => {
    if (told === undefined || told === heard.current) return;
    heard.current = told;
    if (told.device !== DEVICE) put(meet(newest.current, told.text));
  }, [told, put]);
  const { text, base } = written;
  useEffect(() => {
    if (text === base || !open) return;
    let wait = PAUSE;
    let timer = setTimeout(tell, wait);
    async function tell() {
      try {
        await ask("PUT", `/sessions/${session}/draft`, { body: { text, device: DEVICE } });
        put({ text: newest.current.text, base: text });
      } catch (error) {
        // One that the server will not take stays on this device.
        if (error instanceof Refused && !error.passes) return;
        wait = AGAIN;
        timer = setTimeout(tell, wait);
      }
    }
    return () => clearTimeout(timer);
  }, [session, text, base, open, put]);
  const write = useCallback((text: string) => put({ text, base: newest.current.base }), [put]);
  return { text, write, kept: text === base ? "server" : room ? "here" : "nowhere" };
}
