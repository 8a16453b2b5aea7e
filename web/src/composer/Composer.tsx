// The composer. The field is cleared only after the message is saved in the outbox on this device.

import { i18n } from "@lingui/core";
import { ArrowUp, Paperclip } from "lucide-react";
import { useEffect, useState } from "react";

import { matches } from "../commands/keys";
import { can, useCommands, type Command } from "../commands/registry";
import { spelt, withKeys } from "../commands/spelling";
import type { Mode } from "../live/outbox";
import { outbox } from "../live/store";
import type { View } from "../log/types";
import { ui, useUi } from "../shell/ui";
import { useKnown } from "../shell/use";
import { Field } from "./Field";
import { Files } from "./Files";
import { ModelChoice, useModel } from "./ModelChoice";
import { QueueTray } from "./QueueTray";
import { Stop } from "./Stop";
import { toComposer } from "../shell/regions";
import type { Upload } from "../storage/files";
import { isVolatile } from "../storage/local";
import { useDraft, useDraftState, type SessionDraft } from "./draft";
import { commandsOf } from "./keys";
import { unseen } from "./unseen";
import { useUploads, type Uploads } from "./uploads";

const MODES: readonly Mode[] = ["queue", "steer", "interrupt"];

function nameOf(mode: Mode): string {
  if (mode === "queue") return i18n.t("Queue");
  return mode === "steer" ? i18n.t("Steer") : i18n.t("Interrupt");
}

interface Props {
  session: string;
  view: View | undefined;
  /** Edits the last message. */
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
  const [picker, setPicker] = useState<HTMLInputElement | null>(null);
  const away = useKnown(({ link }) => link.kind === "away");
  const busy = view?.run != null;
  const blank = useDraftState(draft, ({ text }) => !/\S/.test(text));
  const empty = blank && uploads.files.length === 0;
  useReturned(session, draft, uploads);
  const send = (how: Mode) => {
    const { ready } = uploads;
    if (empty) return;
    if (ready === undefined)
      return setProblem(i18n.t("A file is still uploading. Send the message when it's done."));
    draft.save();
    const message = { session, text: draft.text, attachments: ready, mode: busy ? how : "queue" } as const;
    try {
      outbox.send(model === undefined ? message : { ...message, model });
    } catch {
      return setProblem(
        i18n.t("Nothing was sent because this browser's storage is full. Your text is still here."),
      );
    }
    draft.write("");
    draft.save();
    uploads.clear();
    setProblem(undefined);
  };
  const attach = () => picker?.click();
  const commands = commandsOf({ send, mode, attach, editLast: onEditLast, isEmpty: () => draft.text === "" });
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
          <Field
            draft={draft}
            placeholder={busy ? i18n.t("Write the next message") : i18n.t("Write a message")}
            onKeyDown={press}
            onFiles={uploads.add}
          />
          <Files files={uploads.files} remove={uploads.remove} />
          <Unseen files={uploads.files} chosen={model} />
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
              ref={setPicker}
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
              <div className="mode" role="radiogroup" aria-label={i18n.t("While the agent is working")}>
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
            <span>
              {i18n.t("Messages are saved on this device and sent in order when the server is back.")}
            </span>
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

function Unseen({ files, chosen }: { files: readonly Upload[]; chosen: string | undefined }) {
  const models = useKnown(({ models }) => models);
  const told = unseen(files, models.find(({ name }) => name === chosen) ?? models[0]);
  if (told === undefined) return null;
  return (
    <p className="unseen" role="status">
      {told}
    </p>
  );
}

function savedHere(): string {
  return isVolatile()
    ? i18n.t("Draft not saved: keep this tab open until the server is back.")
    : i18n.t("Draft saved on this device");
}

function DraftState({ draft }: { draft: SessionDraft }) {
  const kept = useDraftState(draft, ({ text, kept }) => (text === "" ? "nowhere" : kept));
  if (kept === "nowhere") return null;
  return <span>{kept === "server" ? i18n.t("Draft saved") : savedHere()}</span>;
}

/** Puts an unsent message back into the field, before the current text. */
function useReturned(session: string, draft: SessionDraft, uploads: Uploads): void {
  const returned = useUi(({ returned }) => (returned?.session === session ? returned : undefined));
  useEffect(() => {
    if (returned === undefined) return;
    ui.setState({ returned: undefined });
    draft.write([returned.text, draft.text].filter((text) => text !== "").join("\n\n"));
    uploads.put(returned.attachments);
    toComposer();
  }, [returned, draft, uploads]);
}
