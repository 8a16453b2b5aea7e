import { i18n } from "@lingui/core";
import { useRef, useState, type FormEvent } from "react";

import { ask, type Schemas } from "../api/client";
import { useAsked } from "../shell/asked";
import { Problem, useDoing } from "../shell/doing";
import { textIn } from "../shell/form";
import { Advanced } from "./Advanced";
import { ModelPicker, type ListedModel } from "./ModelPicker";
import { readOptions, textsIn, type ModelOptions, type OptionField, type Refusal } from "./modelOptions";
import { modelPath, type Model } from "./Models";

type Preset = Schemas["Preset"];

interface Props {
  /** The model to edit, or undefined to add one. */
  model?: Model;
  /** Names of the models that exist. */
  taken: readonly string[];
  close: () => void;
  changed: () => Promise<void>;
}

/** Returns the request body. Empty fields take the provider's values, or the server's defaults. */
function bodyOf(
  form: FormData,
  provider: Model["provider"],
  listed: ListedModel | undefined,
  options: ModelOptions | undefined,
): Record<string, unknown> {
  const text = (name: string) => textIn(form, name);
  const number = (name: string) => (text(name) === "" ? {} : { [name]: Number(text(name)) });
  return {
    provider,
    url: text("url"),
    model: text("model"),
    // An empty field deletes the key. Without the field, the saved key stays.
    ...(form.has("key") ? { key: text("key") } : {}),
    ...(listed?.window_tokens == null ? {} : { window_tokens: listed.window_tokens }),
    ...(listed?.takes_prefix === true ? { takes_prefix: true } : {}),
    ...number("window_tokens"),
    ...number("output_tokens_max"),
    ...(text("tools") === "" ? {} : { tools: text("tools") === "yes" }),
    ...(text("takes_prefix") === "" ? {} : { takes_prefix: text("takes_prefix") === "yes" }),
    // If left out, the saved options stay.
    ...(options === undefined ? {} : { options }),
  };
}

/** Focuses a field, and opens its section if that is closed. */
function reveal(form: HTMLFormElement, field: OptionField): void {
  const input = form.elements.namedItem(field);
  if (!(input instanceof HTMLElement)) return;
  input.closest("details")?.setAttribute("open", "");
  input.focus();
}

export function ModelForm({ model, taken, close, changed }: Props) {
  const doing = useDoing();
  const form = useRef<HTMLFormElement>(null);
  const presets = useAsked<{ providers: Preset[] }>("/providers").value?.providers;
  const [chosen, setChosen] = useState<string>();
  const [listed, setListed] = useState<ListedModel>();
  /** The name of another model, if a new one would replace it. */
  const [clash, setClash] = useState<string>();
  const [refusal, setRefusal] = useState<Refusal>();
  /** The options when the form opened, even if they change meanwhile. */
  const [saved] = useState<ModelOptions>(model?.options ?? {});
  const [modelName, setModelName] = useState(model?.model ?? "");
  // An edited model keeps its base URL until another provider is chosen.
  const choice = chosen ?? (model === undefined ? "OpenAI" : model.provider);
  const preset = presets?.find(({ name }) => name === choice);
  const provider = preset?.provider ?? (choice === "anthropic" ? "anthropic" : "openai");
  // The limits of one model don't apply to another.
  const isSame = modelName === (model?.model ?? modelName);
  const choose = (name: string, found: ListedModel | undefined) => {
    setModelName(name);
    setListed(found);
  };
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const named = textIn(data, "name");
    const name = model?.name ?? (named === "" ? textIn(data, "model") : named);
    const clashes = model === undefined && taken.includes(name);
    setClash(clashes ? name : undefined);
    if (clashes) return;
    const read = readOptions(textsIn(data), saved);
    setRefusal(read.refusal);
    if (read.refusal !== undefined) return reveal(event.currentTarget, read.refusal.field);
    const kept = await doing.run(
      i18n.t("Couldn't save: the server is unreachable."),
      async () => {
        await ask("PUT", modelPath(name), { body: bodyOf(data, provider, listed, read.options) });
        await changed();
      },
      {
        bad_model: i18n.t(
          "These settings can't be used, so nothing was saved. Check the base URL, model ID, API key, token limits and advanced options. If you changed the base URL, proxy or certificate, enter the API key and header values again.",
        ),
      },
    );
    if (kept) close();
  };
  const query = (data: FormData) => {
    const key = textIn(data, "key");
    return {
      provider,
      url: textIn(data, "url"),
      ...(key === "" ? {} : { key }),
      ...(model === undefined ? {} : { name: model.name }),
    };
  };
  return (
    <form className="form" ref={form} onSubmit={(event) => void submit(event)}>
      <h3>{model === undefined ? i18n.t("Add model") : i18n.t("Edit {name}", { name: model.name })}</h3>
      <label>
        {i18n.t("Provider")}
        <select name="provider" value={choice} onChange={(event) => setChosen(event.target.value)}>
          {presets?.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
          <option value="openai">{i18n.t("Other (OpenAI-compatible)")}</option>
          <option value="anthropic">{i18n.t("Other (Anthropic-compatible)")}</option>
        </select>
      </label>
      <label>
        {i18n.t("Base URL")}
        <input
          key={preset?.url ?? choice}
          name="url"
          type="url"
          required
          defaultValue={preset?.url ?? model?.url ?? ""}
        />
      </label>
      <Key kept={model?.has_key === true} />
      <ModelPicker form={form} initial={model?.model} query={query} chosen={choose} />
      {model === undefined && (
        <label>
          {i18n.t("Name")}
          <input name="name" maxLength={60} autoComplete="off" />
          <span className="hint-in">{i18n.t("Shown in the model menu. Defaults to the model ID.")}</span>
        </label>
      )}
      <More key={String(isSame)} model={isSame ? model : undefined} />
      <Advanced options={saved} refusal={refusal} />
      {clash !== undefined && (
        <p className="err" role="alert">
          {i18n.t("A model named {name} already exists. Enter another name.", { name: clash })}
        </p>
      )}
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

/** The field for the API key. The server never returns a saved key. */
function Key({ kept }: { kept: boolean }) {
  const [replacing, setReplacing] = useState(!kept);
  if (!replacing) {
    return (
      <p className="kept">
        {i18n.t("API key saved.")}{" "}
        <button type="button" className="btn sm" onClick={() => setReplacing(true)}>
          {i18n.t("Replace")}
        </button>
      </p>
    );
  }
  return (
    <label>
      {i18n.t("API key")}
      <input name="key" type="password" autoComplete="off" autoFocus={kept} />
      <span className="hint-in">
        {i18n.t("Stored encrypted and never shown again. Leave empty if the model needs no key.")}
      </span>
    </label>
  );
}

function More({ model }: { model: Model | undefined }) {
  return (
    <details onInvalidCapture={(event) => event.currentTarget.setAttribute("open", "")}>
      <summary>{i18n.t("More options")}</summary>
      <label>
        {i18n.t("Context window (tokens)")}
        <input name="window_tokens" type="number" min="1" defaultValue={model?.window_tokens} />
      </label>
      <label>
        {i18n.t("Max output tokens")}
        <input name="output_tokens_max" type="number" min="1" defaultValue={model?.output_tokens_max} />
      </label>
      <label>
        {i18n.t("Supports tools")}
        <YesNo name="tools" value={model?.tools} />
      </label>
      <label>
        {i18n.t("Can continue a partial answer (prefill)")}
        <YesNo name="takes_prefix" value={model?.takes_prefix} />
      </label>
    </details>
  );
}

function YesNo({ name, value }: { name: string; value: boolean | undefined }) {
  return (
    <select name={name} defaultValue={value === undefined ? "" : value ? "yes" : "no"}>
      {value === undefined && <option value="">{i18n.t("Default")}</option>}
      <option value="yes">{i18n.t("Yes")}</option>
      <option value="no">{i18n.t("No")}</option>
    </select>
  );
}
