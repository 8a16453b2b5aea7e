// Where a person writes. Nothing is cleared before it is kept: the text leaves when it is in the outbox, on this device.

import { ArrowUp, Paperclip, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { insist } from "../api/client";
import type { Mode } from "../live/outbox";
import { outbox } from "../live/store";
import type { Attachment, View } from "../log/types";
import { announce } from "../shell/announce";
import { useKnown } from "../shell/use";
import { sizeOf } from "../shell/words";
import { QueueTray } from "./QueueTray";
import { useDraft } from "./draft";

const MODES: readonly [Mode, string][] = [
  ["queue", "Queue"],
  ["steer", "Steer"],
  ["interrupt", "Interrupt"],
];

export function Composer({ session, view }: { session: string; view: View | undefined }) {
  const [draft, setDraft, kept] = useDraft(session);
  const [files, setFiles] = useState<Attachment[]>([]);
  const [problem, setProblem] = useState<string>();
  const [mode, setMode] = useState<Mode>("queue");
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const away = useKnown(({ link }) => link.kind === "away");
  const busy = view?.run != null;
  const empty = draft.trim() === "" && files.length === 0;
  useEffect(() => field.current?.focus(), [session]);
  useEffect(() => {
    const area = field.current;
    if (area === null) return;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [draft]);
  const send = (how: Mode) => {
    if (empty) return;
    try {
      outbox.send({ session, text: draft, attachments: files, mode: busy ? how : "queue" });
    } catch {
      return setProblem("This device has no room to keep it. Nothing was sent, and your text is still here.");
    }
    setDraft("");
    setFiles([]);
    setProblem(undefined);
  };
  const attach = async (list: FileList | null) => {
    for (const file of list ?? []) {
      try {
        const response = await fetch("/api/v1/attachments", {
          method: "POST",
          headers: { "x-everturn": "1" },
          body: file,
        });
        if (!response.ok) throw new Error();
        const { blob, size_bytes } = (await response.json()) as { blob: string; size_bytes: number };
        const media_type = file.type === "" ? "application/octet-stream" : file.type;
        setFiles((known) => [...known, { name: file.name, media_type, blob, size_bytes }]);
      } catch {
        setProblem(`${file.name} was not uploaded. Your message is kept.`);
      }
    }
  };
  return (
    <div className="dock">
      <div className="col">
        <QueueTray session={session} queue={view?.queue ?? []} busy={busy} />
        <div className="box">
          <textarea
            ref={field}
            aria-label="Message"
            placeholder={busy ? "Write the next message" : "Write a message"}
            rows={1}
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => {
              if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              const how = event.altKey ? "steer" : event.ctrlKey || event.metaKey ? "interrupt" : mode;
              send(how);
            }}
          />
          {files.length > 0 && (
            <div className="files in">
              {files.map((file) => (
                <span key={file.blob} className="file">
                  {file.name} <span className="dim">{sizeOf(file.size_bytes)}</span>
                  <button
                    type="button"
                    className="icon"
                    aria-label={`Remove ${file.name}`}
                    onClick={() => setFiles((known) => known.filter((other) => other !== file))}
                  >
                    <X aria-hidden="true" />
                  </button>
                </span>
              ))}
            </div>
          )}
          <div className="tools">
            <button
              type="button"
              className="icon"
              aria-label="Attach a file"
              onClick={() => picker.current?.click()}
            >
              <Paperclip aria-hidden="true" />
            </button>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              onChange={(event) => {
                void attach(event.target.files);
                event.target.value = "";
              }}
            />
            {busy && (
              <div className="mode" role="radiogroup" aria-label="While the agent works">
                {MODES.map(([value, name]) => (
                  <button
                    key={value}
                    type="button"
                    role="radio"
                    aria-checked={mode === value}
                    onClick={() => setMode(value)}
                  >
                    {name}
                  </button>
                ))}
              </div>
            )}
            <span className="grow" />
            {busy && <Stop session={session} run={view.run ?? null} away={away} />}
            <button
              type="button"
              className="send"
              aria-label="Send"
              disabled={empty}
              onClick={() => send(mode)}
            >
              <ArrowUp aria-hidden="true" />
            </button>
          </div>
        </div>
        <div className="hint">
          {away ? (
            <span>Messages you send now are kept here and delivered in order.</span>
          ) : (
            <>
              <span className="no-p">
                <kbd>Enter</kbd> {busy ? MODES.find(([value]) => value === mode)?.[1].toLowerCase() : "send"}
              </span>
              {busy && (
                <>
                  <span className="no-p">
                    <kbd>Alt Enter</kbd> steer
                  </span>
                  <span className="no-p">
                    <kbd>Ctrl Enter</kbd> interrupt
                  </span>
                  <span className="no-p">
                    <kbd>Ctrl .</kbd> stop
                  </span>
                </>
              )}
            </>
          )}
          {problem !== undefined && <span role="alert">{problem}</span>}
          <span className="grow" />
          {draft !== "" && kept && <span>Draft kept</span>}
        </div>
      </div>
    </div>
  );
}

/** Says "Stopping…" until the log says that the run ended. */
function Stop({ session, run, away }: { session: string; run: number | null; away: boolean }) {
  const [asked, setAsked] = useState<number | null>(null);
  const [again, setAgain] = useState(false);
  const stopping = run !== null && asked === run;
  const stop = async () => {
    if (run === null || away) return;
    setAsked(run);
    try {
      await insist("POST", `/sessions/${session}/stop`, { body: { run } });
    } catch {
      setAsked(null);
      announce("Not stopped: the server cannot be reached.");
    }
  };
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key === ".") {
        event.preventDefault();
        void stop();
      } else if (event.key === "Escape" && !event.defaultPrevented) {
        if (again) void stop();
        else setAgain(true);
      }
    };
    window.addEventListener("keydown", press);
    return () => window.removeEventListener("keydown", press);
  });
  useEffect(() => {
    if (!again) return;
    const timer = setTimeout(() => setAgain(false), 1_500);
    return () => clearTimeout(timer);
  }, [again]);
  const why = away ? "You can stop it when the connection is back" : undefined;
  return (
    <>
      {again && !stopping && <span className="dim">Esc again to stop</span>}
      <button
        type="button"
        className="stop"
        disabled={away || stopping}
        title={why}
        onClick={() => void stop()}
      >
        <i aria-hidden="true" /> {stopping ? "Stopping…" : "Stop"}
      </button>
    </>
  );
}
