// Conversation settings of the user and of this device, and, for owners, of the server.

import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import type { Mode } from "../live/outbox";
import { Loaded, useAsked, type Asked } from "../shell/asked";
import { Problem, useDoing } from "../shell/doing";
import { textIn } from "../shell/form";
import { isOn, turn } from "../shell/remembered";
import { useKnown } from "../shell/use";
import { prefer } from "./preferences";
import { Choice, Switch } from "./Choice";

export type ServerSettings = Omit<Schemas["SettingsBody"], "after_crash"> & {
  after_interruption: "continue" | "wait";
};

export function ConversationPage() {
  const owner = useKnown(({ user }) => user?.role === "owner");
  return (
    <>
      <Busy />
      <Letters />
      {owner && <ForAll />}
    </>
  );
}

function ForAll() {
  const asked = useAsked<ServerSettings>("/settings");
  return <Loaded asked={asked}>{(settings) => <OfServer settings={settings} asked={asked} />}</Loaded>;
}

function Busy() {
  const busy = useKnown(({ preferences }) => preferences?.busy ?? "queue");
  const doing = useDoing();
  const modes: [Mode, string, string][] = [
    ["queue", i18n.t("Queue"), i18n.t("Sends the message when the current answer is complete.")],
    ["steer", i18n.t("Steer"), i18n.t("The agent reads the message at its next step, without stopping.")],
    ["interrupt", i18n.t("Interrupt"), i18n.t("Stops the answer and responds to the message next.")],
  ];
  return (
    <section>
      <Choice
        title={i18n.t("Enter key while the agent is working")}
        name="busy"
        value={busy}
        options={modes}
        choose={(busy) =>
          void doing.run(i18n.t("Couldn't save: the server is unreachable."), () => prefer({ busy }))
        }
      />
      <Problem of={doing} />
    </section>
  );
}

function Letters() {
  const [on, setOn] = useState(() => isOn("letters"));
  return (
    <section>
      <h3>{i18n.t("Keyboard")}</h3>
      <Switch
        label={i18n.t("Single-letter shortcuts")}
        told={i18n.t(
          "Use J, K, R and other letter keys while the conversation is focused. This device only.",
        )}
        on={on}
        choose={(on) => {
          turn("letters", on);
          setOn(on);
        }}
      />
    </section>
  );
}

function OfServer({ settings, asked }: { settings: ServerSettings; asked: Asked<ServerSettings> }) {
  const doing = useDoing();
  const [saved, setSaved] = useState(false);
  const fixed = settings.set_in_environment ?? [];
  const change = (body: Partial<ServerSettings>) =>
    doing.run(
      i18n.t("Couldn't save: the server is unreachable."),
      async () => {
        await ask("PATCH", "/settings", { body });
        await asked.again();
      },
      { bad_setting: i18n.t("The system prompt is too long, so it wasn't saved. Shorten it and try again.") },
    );
  const keep = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = textIn(new FormData(event.currentTarget), "instructions");
    setSaved(await change({ instructions: text === "" ? null : text }));
  };
  return (
    <>
      <section>
        <Choice
          title={i18n.t("After an interruption")}
          name="after_interruption"
          value={settings.after_interruption}
          disabled={fixed.includes("after_interruption")}
          options={[
            [
              "continue",
              i18n.t("Continue automatically"),
              i18n.t("Resumes an interrupted answer when that is safe."),
            ],
            [
              "wait",
              i18n.t("Wait for Continue"),
              i18n.t("Interrupted answers wait until you press Continue."),
            ],
          ]}
          choose={(after_interruption) => void change({ after_interruption })}
        />
        {fixed.includes("after_interruption") && <Fixed />}
      </section>
      <section>
        <form className="form" onSubmit={(event) => void keep(event)} onChange={() => setSaved(false)}>
          <label>
            <h3>{i18n.t("System prompt for every session")}</h3>
            <textarea
              name="instructions"
              rows={6}
              disabled={fixed.includes("instructions")}
              defaultValue={settings.instructions ?? ""}
            />
          </label>
          {fixed.includes("instructions") && <Fixed />}
          <div className="do">
            <button className="btn" disabled={doing.busy || fixed.includes("instructions")}>
              {i18n.t("Save")}
            </button>
            {saved && <span className="good">{i18n.t("Saved.")}</span>}
          </div>
        </form>
      </section>
      <Problem of={doing} />
    </>
  );
}

/** Explains why a setting is disabled. */
export function Fixed() {
  return (
    <p className="dim">
      {i18n.t("This is set by an environment variable on the server, so you can't change it here.")}
    </p>
  );
}
