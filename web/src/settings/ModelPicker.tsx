// The field for a model's name. On focus it asks the provider for its models, with the address and key in the form.

import { i18n } from "@lingui/core";
import { useState, type RefObject } from "react";

import { ask, type Schemas } from "../api/client";
import { why } from "../shell/attempt";
import { countOf, priceOf } from "../shell/words";

export type ListedModel = Schemas["ListedModel"];
type Offer = Schemas["OfferBody"];

/** A provider may take 10 seconds. */
const LIST_PATIENCE = 20_000;

interface Props {
  form: RefObject<HTMLFormElement | null>;
  /** The provider's name for the model that is being edited. */
  initial: string | undefined;
  /** Returns the request body for the list, from the form's fields. */
  query: (form: FormData) => Record<string, unknown>;
  chosen: (model: string, listed: ListedModel | undefined) => void;
}

export function ModelPicker({ form, initial, query, chosen }: Props) {
  const [offer, setOffer] = useState<Offer>();
  const [asked, setAsked] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [model, setModel] = useState(initial ?? "");
  const list = async () => {
    if (form.current === null) return;
    const body = query(new FormData(form.current));
    const text = JSON.stringify(body);
    if (text === asked || body["url"] === "") return;
    setAsked(text);
    setBusy(true);
    try {
      setOffer(await ask<Offer>("POST", "/providers/models", { body, patience: LIST_PATIENCE }));
    } catch (error) {
      const told = why(error, i18n.t("Couldn't load the models: the server is unreachable."), {
        bad_model: i18n.t("Couldn't load the models: check the base URL and the API key."),
      });
      setOffer({ models: [], told });
    } finally {
      setBusy(false);
    }
  };
  const listed = offer?.models.find((one) => one.model === model);
  return (
    <label>
      {i18n.t("Model")}
      <input
        name="model"
        required
        autoComplete="off"
        list="offered-models"
        value={model}
        onFocus={() => void list()}
        onChange={(event) => {
          const { value } = event.target;
          setModel(value);
          chosen(
            value,
            offer?.models.find((one) => one.model === value),
          );
        }}
      />
      <datalist id="offered-models">
        {offer?.models.map((one) => (
          <option key={one.model} value={one.model} />
        ))}
      </datalist>
      <span className="hint-in" role="status">
        {busy ? i18n.t("Loading models…") : hint(offer, listed)}
      </span>
    </label>
  );
}

/** Returns the details of the chosen model, or a hint for choosing one. */
function hint(offer: Offer | undefined, listed: ListedModel | undefined): string {
  if (offer === undefined) return i18n.t("The model's ID at the provider.");
  if (offer.told != null) return `${offer.told} ${i18n.t("You can still enter a model ID.")}`;
  if (listed === undefined) {
    return i18n.t(
      "{count, plural, one {# model available. Choose it or enter an ID.} other {# models available. Choose one or enter an ID.}}",
      { count: offer.models.length },
    );
  }
  const { window_tokens, input_price, output_price, prices_as_of } = listed;
  const facts: string[] = [];
  if (window_tokens != null) facts.push(i18n.t("Context: {count} tokens", { count: countOf(window_tokens) }));
  if (input_price != null && output_price != null && input_price + output_price > 0) {
    const prices = { input: priceOf(input_price), output: priceOf(output_price) };
    facts.push(
      prices_as_of == null
        ? i18n.t("{input} input and {output} output per million tokens", prices)
        : i18n.t("{input} input and {output} output per million tokens, as of {date}", {
            ...prices,
            date: prices_as_of,
          }),
    );
  }
  return facts.length === 0 ? i18n.t("No details available for this model.") : facts.join(" · ");
}
