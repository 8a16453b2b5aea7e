// Options that few models need: additions to requests, their route, timeouts, prices, and overrides of what is known.

import { i18n } from "@lingui/core";
import { useState, type ReactNode } from "react";

import { textsOf, type ModelOptions, type OptionField, type OptionTexts, type Refusal } from "./modelOptions";

const EXACT = { autoComplete: "off", autoCapitalize: "off", spellCheck: false } as const;
/** The most rows of a text area. Longer texts scroll. */
const ROWS_MAX = 12;

interface Props {
  /** The saved options. */
  options: ModelOptions;
  /** The error in the texts that were submitted. */
  refusal: Refusal | undefined;
}

export function Advanced({ options, refusal }: Props) {
  const [texts] = useState(() => textsOf(options));
  const hasOptions = Object.values(texts).some((text) => text !== "");
  const section = { texts, refusal };
  return (
    <details
      open={hasOptions}
      // Browsers can't point at a field in a closed section.
      onInvalidCapture={(event) => event.currentTarget.setAttribute("open", "")}
    >
      <summary>{i18n.t("Advanced")}</summary>
      <Area
        section={section}
        field="headers"
        label={i18n.t("Headers")}
        hint={i18n.t(
          "One per line, as Name: value. Saved values are hidden; leave the dots in place to keep them.",
        )}
      />
      <Area
        section={section}
        field="query"
        label={i18n.t("Query parameters")}
        hint={i18n.t("One per line, as name=value.")}
      />
      <Area
        section={section}
        field="fields"
        label={i18n.t("Request fields")}
        hint={i18n.t("A JSON object to merge into every request; null removes a field.")}
      />
      <Field
        section={section}
        field="proxy"
        label={i18n.t("Proxy")}
        hint={i18n.t("HTTP proxy URL, without a username and password.")}
      >
        <input name="proxy" type="url" {...EXACT} defaultValue={texts.proxy} />
      </Field>
      <Area
        section={section}
        field="certificate"
        label={i18n.t("CA certificate")}
        hint={i18n.t("PEM certificates to trust in addition to the system's.")}
      />
      <NumberField
        section={section}
        field="first_byte_seconds"
        label={i18n.t("First byte timeout in seconds")}
        hint={i18n.t("Maximum wait for the first byte of an answer.")}
      />
      <NumberField
        section={section}
        field="silence_seconds"
        label={i18n.t("Idle timeout in seconds")}
        hint={i18n.t("Maximum pause within an answer.")}
      />
      <NumberField
        section={section}
        field="input_price"
        label={i18n.t("Input price per million tokens")}
        hint={i18n.t("Defaults to the list price of a known model, otherwise 0.")}
      />
      <NumberField
        section={section}
        field="output_price"
        label={i18n.t("Output price per million tokens")}
        hint={i18n.t("Defaults to the list price of a known model, otherwise 0.")}
      />
      <Area
        section={section}
        field="accepts"
        label={i18n.t("Model behavior")}
        hint={i18n.t("A JSON object that overrides what is known about the model, for example {example}.", {
          example: '{"output_limit": "max_tokens"}',
        })}
      />
    </details>
  );
}

interface FieldProps {
  section: { texts: OptionTexts; refusal: Refusal | undefined };
  field: OptionField;
  label: string;
  hint: string;
}

function Area(props: FieldProps) {
  const text = props.section.texts[props.field];
  const rows = Math.min(Math.max(text.split("\n").length, 3), ROWS_MAX);
  return (
    <Field {...props}>
      <textarea name={props.field} rows={rows} {...EXACT} defaultValue={text} />
    </Field>
  );
}

/** The browser rejects text that isn't a number. `readOptions` checks the limits. */
function NumberField(props: FieldProps) {
  return (
    <Field {...props}>
      <input name={props.field} type="number" step="any" defaultValue={props.section.texts[props.field]} />
    </Field>
  );
}

function Field({ section, field, label, hint, children }: FieldProps & { children: ReactNode }) {
  return (
    <label>
      {label}
      {children}
      <span className="hint-in">{hint}</span>
      {section.refusal?.field === field && (
        <span className="err" role="alert">
          {section.refusal.sentence}
        </span>
      )}
    </label>
  );
}
