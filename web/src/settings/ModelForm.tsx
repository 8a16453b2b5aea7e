import { i18n } from "@lingui/core";
import { useState, type FormEvent } from "react";

import { ask } from "../api/client";
import { Problem, useDoing } from "../shell/doing";
import { textIn } from "../shell/form";
import { modelPath, type Model } from "./Models";

const ADDRESSES = { openai: "https://api.openai.com/v1", anthropic: "https://api.anthropic.com" } as const;

interface Props {
  /** The one that is changed; none when one is added. */
  model?: Model;
  close: () => void;
  changed: () => Promise<void>;
}

/** What is written in the form, as the server takes it. What was left empty is left to the server. */
function bodyOf(form: FormData): Record<string, unknown> {
  const text = (name: string) => textIn(form, name);
  const number = (name: string) => (text(name) === "" ? {} : { [name]: Number(text(name)) });
  return {
    provider: text("provider"),
    url: text("url"),
    model: text("model"),
    // A field that is there and empty takes the key away; one that is not there leaves it.
    ...(form.has("key") ? { key: text("key") } : {}),
    ...number("window_tokens"),
    ...number("output_tokens_max"),
    ...(text("tools") === "" ? {} : { tools: text("tools") === "yes" }),
    ...(text("takes_prefix") === "" ? {} : { takes_prefix: text("takes_prefix") === "yes" }),
  };
}

export function ModelForm({ model, close, changed }: Props) {
  const doing = useDoing();
  const [provider, setProvider] = useState<Model["provider"]>(model?.provider ?? "openai");
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = model?.name ?? textIn(form, "name");
    const kept = await doing.run(i18n.t("Couldn't save: the server is unreachable."), async () => {
      await ask("PUT", modelPath(name), { body: bodyOf(form) });
      await changed();
    });
    if (kept) close();
  };
  return (
    <form className="form" onSubmit={(event) => void submit(event)}>
      <h3>{model === undefined ? i18n.t("Add a model") : i18n.t("Change {name}", { name: model.name })}</h3>
      {model === undefined && (
        <label>
          {i18n.t("Name")}
          <input name="name" required autoFocus maxLength={100} autoComplete="off" />
          <span className="hint-in">{i18n.t("As it is called in the pages.")}</span>
        </label>
      )}
      <label>
        {i18n.t("Provider")}
        <select
          name="provider"
          value={provider}
          onChange={(event) => setProvider(event.target.value as Model["provider"])}
        >
          <option value="openai">{i18n.t("OpenAI, or anything that speaks as it does")}</option>
          <option value="anthropic">Anthropic</option>
        </select>
      </label>
      <label>
        {i18n.t("Address")}
        <input
          key={provider}
          name="url"
          type="url"
          required
          defaultValue={model?.provider === provider ? (model.url ?? "") : ADDRESSES[provider]}
        />
      </label>
      <label>
        {i18n.t("Model")}
        <input name="model" required autoComplete="off" defaultValue={model?.model} />
        <span className="hint-in">{i18n.t("As the provider calls it.")}</span>
      </label>
      <Key kept={model?.has_key === true} />
      <More model={model} />
      <Problem of={doing} />
      <div className="do">
        <button className="btn pri" disabled={doing.busy}>
          {doing.busy ? i18n.t("Saving…") : i18n.t("Save")}
        </button>
        <button type="button" className="btn" onClick={close}>
          {i18n.t("Cancel")}
        </button>
      </div>
    </form>
  );
}

/** A key goes to the server and never comes back. */
function Key({ kept }: { kept: boolean }) {
  const [replacing, setReplacing] = useState(!kept);
  if (!replacing) {
    return (
      <p className="kept">
        {i18n.t("A key is kept.")}{" "}
        <button type="button" className="btn sm" onClick={() => setReplacing(true)}>
          {i18n.t("Replace")}
        </button>
      </p>
    );
  }
  return (
    <label>
      {i18n.t("Key")}
      <input name="key" type="password" autoComplete="off" autoFocus={kept} />
      <span className="hint-in">
        {i18n.t("Kept sealed on the server, and shown to nobody. Leave it empty for a model without one.")}
      </span>
    </label>
  );
}

function More({ model }: { model: Model | undefined }) {
  return (
    <details>
      <summary>{i18n.t("More")}</summary>
      <label>
        {i18n.t("Tokens that it can read")}
        <input name="window_tokens" type="number" min="1" defaultValue={model?.window_tokens} />
      </label>
      <label>
        {i18n.t("Tokens that it may write in one step")}
        <input name="output_tokens_max" type="number" min="1" defaultValue={model?.output_tokens_max} />
      </label>
      <label>
        {i18n.t("Can use tools")}
        <YesNo name="tools" value={model?.tools} />
      </label>
      <label>
        {i18n.t("Goes on from its own words after an interruption")}
        <YesNo name="takes_prefix" value={model?.takes_prefix} />
      </label>
    </details>
  );
}

function YesNo({ name, value }: { name: string; value: boolean | undefined }) {
  return (
    <select name={name} defaultValue={value === undefined ? "" : value ? "yes" : "no"}>
      {value === undefined && <option value="">{i18n.t("As is usual")}</option>}
      <option value="yes">{i18n.t("Yes")}</option>
      <option value="no">{i18n.t("No")}</option>
    </select>
  );
}
