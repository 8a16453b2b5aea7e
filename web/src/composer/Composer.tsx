// Where a person writes. Nothing is cleared before it is kept: the text leaves when it is in the outbox, on this device.

import { i18n } from "@lingui/core";
import { ArrowUp, Paperclip } from "lucide-react";
import { useEffect, useRef, useState } from "react";

import { matches } from "../commands/keys";
import { can, useCommands, type Command } from "../commands/registry";
import { spelt, withKeys } from "../commands/spelling";
import type { Mode } from "../live/outbox";
import { outbox } from "../live/store";
import type { View } from "../log/types";
import { useKnown } from "../shell/use";
import { Files } from "./Files";
import { ModelChoice, useModel } from "./ModelChoice";
import { QueueTray } from "./QueueTray";
import { Stop } from "./Stop";
import { useDraft, type Draft } from "./draft";
import { commandsOf } from "./keys";
import { useUploads } from "./uploads";

const MODES: readonly Mode[] = ["queue", "steer", "interrupt"];

function nameOf(mode: Mode): string {
  if (mode === "queue") return i18n.t("Queue");
  return mode === "steer" ? i18n.t("Steer") : i18n.t("Interrupt");
}

interface Props {
  session: string;
  view: View | undefined;
  /** The person wants to say the last thing differently. */
  onEditLast: () => void;
}

export function Composer({ session, view, onEditLast }: Props) {
  const draft = useDraft(session);
  const uploads = useUploads(session);
  const [model, chooseModel] = useModel(session);
  const [problem, setProblem] = useState<string>();
  const preferred = useKnown(({ preferences }) => preferences?.busy ?? "queue");
  const [chosen, setMode] = useState<Mode>();
  const mode = chosen ?? preferred;
  const field = useRef<HTMLTextAreaElement>(null);
  const picker = useRef<HTMLInputElement>(null);
  const away = useKnown(({ link }) => link.kind === "away");
  const busy = view?.run != null;
  const empty = draft.text.trim() === "" && uploads.files.length === 0;
  useEffect(() => {
    // On a phone the keyboard would cover what one came to read.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [session]);
  useEffect(() => {
    const area = field.current;
    const box = area?.parentElement;
    if (area === null || box == null) return;
    // Held open meanwhile: the conversation above must not move because something is measured here.
    box.style.minHeight = `${box.offsetHeight}px`;
    area.style.height = "auto";
    area.style.height = `${Math.min(area.scrollHeight, window.innerHeight * 0.4)}px`;
    box.style.minHeight = "";
  }, [draft.text]);
  const send = (how: Mode) => {
    const { ready } = uploads;
    if (empty) return;
    if (ready === undefined) return setProblem(i18n.t("A file is still on its way. Send when it is saved."));
    const message = { session, text: draft.text, attachments: ready, mode: busy ? how : "queue" } as const;
    try {
      outbox.send(model === undefined ? message : { ...message, model });
    } catch {
      return setProblem(
        i18n.t("This device has no room to keep it. Nothing was sent, and your text is still here."),
      );
    }
    draft.write("");
    uploads.clear();
    setProblem(undefined);
  };
  const attach = () => picker.current?.click();
  const commands = commandsOf({ send, mode, attach, editLast: onEditLast, empty: draft.text === "" });
  useCommands(commands);
  const press = (event: React.KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const pressed = ({ keys }: Command) => typeof keys === "string" && matches(keys, event.nativeEvent);
    const command = commands.find((command) => pressed(command) && can(command));
    if (command === undefined) return;
    event.preventDefault();
    command.run();
  };
  return (
    <div className="dock">
      <div className="col">
        <QueueTray session={session} queue={view?.queue ?? []} busy={busy} />
        <div
          className="box"
          onDragOver={(event) => event.preventDefault()}
          onDrop={(event) => {
            event.preventDefault();
            uploads.add(event.dataTransfer.files);
          }}
        >
          <textarea
            ref={field}
            aria-label={i18n.t("Message")}
            placeholder={busy ? i18n.t("Write the next message") : i18n.t("Write a message")}
            rows={1}
            value={draft.text}
            onChange={(event) => draft.write(event.target.value)}
            onKeyDown={press}
            onPaste={(event) => {
              if (event.clipboardData.files.length === 0) return;
              event.preventDefault();
              uploads.add(event.clipboardData.files);
            }}
          />
          <Files files={uploads.files} remove={uploads.remove} />
          <div className="tools">
            <button
              type="button"
              className="icon"
              aria-label={i18n.t("Attach a file")}
              title={withKeys(i18n.t("Attach a file"), "Mod+u")}
              onClick={attach}
            >
              <Paperclip aria-hidden="true" />
            </button>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label={i18n.t("Files")}
              onChange={(event) => {
                uploads.add([...(event.target.files ?? [])]);
                event.target.value = "";
              }}
            />
            <ModelChoice chosen={model} choose={chooseModel} />
            {busy && (
              <div className="mode" role="radiogroup" aria-label={i18n.t("While the agent works")}>
                {MODES.map((value) => (
                  <button
                    key={value}
                    type="button"
                    role="radio"
                    aria-checked={mode === value}
                    onClick={() => setMode(value)}
                  >
                    {nameOf(value)}
                  </button>
                ))}
              </div>
            )}
            <div className="go">
              {busy && <Stop session={session} run={view.run ?? null} away={away} />}
              <button
                type="button"
                className="send"
                aria-label={i18n.t("Send")}
                disabled={empty}
                onClick={() => send(mode)}
              >
                <ArrowUp aria-hidden="true" />
              </button>
            </div>
          </div>
        </div>
        <div className="hint">
          {away ? (
            <span>{i18n.t("Messages you send now are kept here and delivered in order.")}</span>
          ) : (
            <Hints busy={busy} mode={mode} />
          )}
          {problem !== undefined && <span role="alert">{problem}</span>}
          <span className="grow" />
          <DraftState draft={draft} />
        </div>
      </div>
    </div>
  );
}

function Hints({ busy, mode }: { busy: boolean; mode: Mode }) {
  const does = { queue: i18n.t("queue"), steer: i18n.t("steer"), interrupt: i18n.t("interrupt") };
  const hints: [keys: string, does: string][] = busy
    ? [
        ["Enter", does[mode]],
        ["Alt+Enter", does.steer],
        ["Mod+Enter", does.interrupt],
        ["Mod+.", i18n.t("stop")],
      ]
    : [["Enter", i18n.t("send")]];
  return hints.map(([keys, does]) => (
    <span key={keys} className="no-p">
      <kbd>{spelt(keys)}</kbd> {does}
    </span>
  ));
}

function DraftState({ draft: { text, kept } }: { draft: Draft }) {
  if (text === "" || kept === "nowhere") return null;
  return <span>{kept === "server" ? i18n.t("Draft saved") : i18n.t("Draft kept on this device")}</span>;
}
