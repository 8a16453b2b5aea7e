// What is being written in a session: on this device with every key, on the server a moment later, and from there on
// every other device.

import { useCallback, useEffect, useRef, useState } from "react";

import { ask, Refused } from "../api/client";
import { DEVICE } from "../live/store";
import { useKnown } from "../shell/use";
import { isLate, meet, type Written } from "./meet";

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
  const heard = useRef<typeof told>(undefined);
  const revision = useRef<number | undefined>(undefined);
  // Requests are sent one after the other.
  const sending = useRef(Promise.resolve());
  useEffect(() => {
    if (told === undefined || told === heard.current || isLate(told, revision.current)) return;
    heard.current = told;
    revision.current = told.revision;
    if (told.device !== DEVICE) put(meet(newest.current, told.text));
  }, [told, put]);
  const { text, base } = written;
  useEffect(() => {
    if (text === base || !open || told === undefined) return;
    let left = false;
    let timer = setTimeout(tell, PAUSE);
    function tell() {
      sending.current = sending.current.then(send);
    }
    async function send() {
      if (left) return;
      try {
        const body = { text, base: revision.current, device: DEVICE };
        const kept = await ask<{ revision: number }>("PUT", `/sessions/${session}/draft`, { body });
        revision.current = kept.revision;
        put({ text: newest.current.text, base: text });
      } catch (error) {
        // A draft that the server refuses stays on this device. If another device changed it, the server tells how.
        if (error instanceof Refused && !error.passes) return;
        if (!left) timer = setTimeout(tell, AGAIN);
      }
    }
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [session, text, base, open, told, put]);
  const write = useCallback((text: string) => put({ text, base: newest.current.base }), [put]);
  return { text, write, kept: text === base ? "server" : room ? "here" : "nowhere" };
}
