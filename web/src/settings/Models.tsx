// The models: read-only ones from the configuration file, and those added in Settings.

import { i18n } from "@lingui/core";
import { useState } from "react";

import { ask, type Schemas } from "../api/client";
import { readModels } from "../live/personal";
import { announce } from "../shell/announce";
import { Loaded, useAsked } from "../shell/asked";
import { Problem, Slow, useDoing } from "../shell/doing";
import { useKnown } from "../shell/use";
import { countOf } from "../shell/words";
import { Confirm } from "./Confirm";
import { ModelForm } from "./ModelForm";

export type Model = Schemas["ModelBody"];

/** A provider may take long to send the first token. */
export const TEST_PATIENCE = 60_000;

export const modelPath = (name: string) => `/models/${encodeURIComponent(name)}`;

export function Models() {
  const owner = useKnown(({ user }) => user?.role === "owner");
  const asked = useAsked<{ models: Model[] }>("/models");
  const [form, setForm] = useState<Model | "new">();
  const names = asked.value?.models.map(({ name }) => name) ?? [];
  const changed = async () => {
    await Promise.all([asked.again(), readModels()]);
  };
  return (
    <>
      <p>{i18n.t("The default model answers unless a project or a message picks another one.")}</p>
      <Loaded asked={asked}>
        {({ models }) => (
          <>
            {models.length === 0 && (
              <p className="dim">{i18n.t("No models yet. Add one so the agent can answer.")}</p>
            )}
            <ul className="rows" aria-label={i18n.t("Models")}>
              {models.map((model, at) => (
                <li key={model.name}>
                  {form !== "new" && form?.name === model.name ? (
                    <ModelForm
                      model={model}
                      taken={names}
                      close={() => setForm(undefined)}
                      changed={changed}
                    />
                  ) : (
                    <Row
                      model={model}
                      first={at === 0}
                      owner={owner}
                      edit={() => setForm(model)}
                      changed={changed}
                    />
                  )}
                </li>
              ))}
            </ul>
          </>
        )}
      </Loaded>
      {owner &&
        (form === "new" ? (
          <ModelForm taken={names} close={() => setForm(undefined)} changed={changed} />
        ) : (
          <button type="button" className="btn pri" onClick={() => setForm("new")}>
            {i18n.t("Add model")}
          </button>
        ))}
    </>
  );
}

interface RowProps {
  model: Model;
  first: boolean;
  owner: boolean;
  edit: () => void;
  changed: () => Promise<void>;
}

function Row({ model, first, owner, edit, changed }: RowProps) {
  const { name } = model;
  const doing = useDoing();
  return (
    <div className="row-in">
      <div className="what">
        <h3>
          {name}
          {first && <span className="badge">{i18n.t("Default")}</span>}
        </h3>
        <p className="dim">{facts(model).join(" · ")}</p>
      </div>
      {owner && (
        <div className="do">
          {!first && (
            <button
              type="button"
              className="btn sm"
              aria-label={i18n.t("Make default: {name}", { name })}
              disabled={doing.busy}
              onClick={() =>
                void doing.run(i18n.t("Couldn't save: the server is unreachable."), async () => {
                  await ask("PUT", "/models/default", { body: { name } });
                  await changed();
                })
              }
            >
              {i18n.t("Make default")}
            </button>
          )}
          {model.from === "settings" && (
            <>
              <button
                type="button"
                className="btn sm"
                aria-label={i18n.t("Edit {name}", { name })}
                onClick={edit}
              >
                {i18n.t("Edit")}
              </button>
              <Confirm
                word={i18n.t("Remove")}
                label={i18n.t("Remove {name}", { name })}
                question={i18n.t("Remove the model {name}?", { name })}
                told={i18n.t("Its API key is deleted. Existing sessions don't change.")}
                failed={i18n.t("Couldn't remove the model: the server is unreachable.")}
                act={async () => {
                  await ask("DELETE", modelPath(name));
                  await changed();
                }}
              />
            </>
          )}
        </div>
      )}
      {owner && <Test name={name} />}
      <Problem of={doing} />
    </div>
  );
}

function facts({ model, provider, url, from, has_key, window_tokens }: Model): string[] {
  return [
    model,
    provider === "anthropic" ? "Anthropic" : "OpenAI",
    ...(url == null ? [] : [url]),
    i18n.t("Context: {count} tokens", { count: countOf(window_tokens) }),
    has_key ? i18n.t("API key saved") : i18n.t("No API key"),
    from === "file" ? i18n.t("Set in the configuration file") : i18n.t("Added in Settings"),
  ];
}

/** Asks the provider for one short answer. */
export function Test({ name }: { name: string }) {
  const doing = useDoing();
  const [told, setTold] = useState<{ ok: boolean; told: string }>();
  const test = () => {
    setTold(undefined);
    void doing.run(i18n.t("Couldn't test the model: the server is unreachable."), async () => {
      const answer = await ask<{ ok: boolean; told: string }>("POST", `${modelPath(name)}/test`, {
        patience: TEST_PATIENCE,
      });
      setTold(answer);
      announce(answer.told);
    });
  };
  return (
    <div className="test">
      <button
        type="button"
        className="btn sm"
        aria-label={i18n.t("Test {name}", { name })}
        disabled={doing.busy}
        onClick={test}
      >
        {i18n.t("Test")}
      </button>
      <Slow on={doing.busy}>{i18n.t("Waiting for the model to respond…")}</Slow>
      {told !== undefined && <p className={told.ok ? "good" : "err"}>{told.told}</p>}
      <Problem of={doing} />
    </div>
  );
}
