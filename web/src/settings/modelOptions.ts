// Converts the options of a model to texts for a form, and back. A text that wasn't changed keeps its saved option exactly.

import { i18n } from "@lingui/core";

import type { Schemas } from "../api/client";
import { textIn } from "../shell/form";
import { countOf } from "../shell/words";

type JsonObject = Record<string, unknown>;

/** Options as the API takes and shows them: an empty one is left out, and a saved header value is `null`. */
export type ModelOptions = Partial<Omit<Schemas["ModelOptions"], "fields" | "accepts">> & {
  fields?: JsonObject;
  accepts?: JsonObject;
};

export type OptionField = keyof ModelOptions;
export type OptionTexts = Record<OptionField, string>;

/** Stands for the saved value of a header. */
export const SAVED_VALUE = "••••";
const DOT = "•";

const PROXY_PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:"]);
const WAIT_SECONDS_MAX = 86_400;
const PRICE_BOUND = 1_000_000;

/** A text that can't be read. */
export interface Refusal {
  field: OptionField;
  /** The error, for people. */
  sentence: string;
}

export type ReadOptions = { refusal?: undefined; options: ModelOptions | undefined } | { refusal: Refusal };

/** Returns the texts for a form that shows `options`. */
export function textsOf(options: ModelOptions): OptionTexts {
  const { headers = {}, query = {}, proxy, certificate } = options;
  const { first_byte_seconds, silence_seconds, input_price, output_price } = options;
  return {
    headers: linesOf(headers, (name, value) => `${name}: ${value ?? SAVED_VALUE}`),
    query: linesOf(query, (name, value) => `${name}=${value}`),
    fields: jsonOf(options.fields),
    proxy: proxy ?? "",
    certificate: tidy(certificate ?? ""),
    first_byte_seconds: numberText(first_byte_seconds),
    silence_seconds: numberText(silence_seconds),
    input_price: numberText(input_price),
    output_price: numberText(output_price),
    accepts: jsonOf(options.accepts),
  };
}

/** Returns the texts of a submitted form, whose fields are named after the options. */
export function textsIn(form: FormData): OptionTexts {
  const texts = textsOf({});
  for (const field of fieldsOf(texts)) texts[field] = textIn(form, field);
  return texts;
}

/** Reads the options from the texts of a form. If no text differs from those of `saved`, there are none to send. */
export function readOptions(texts: OptionTexts, saved: ModelOptions): ReadOptions {
  const before = textsOf(saved);
  const changed = fieldsOf(texts).filter((field) => tidy(texts[field]) !== tidy(before[field]));
  if (changed.length === 0) return { options: undefined };
  const options = { ...saved };
  for (const field of changed) {
    try {
      read(options, field, tidy(texts[field]), saved);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      return { refusal: { field, sentence: error.message } };
    }
  }
  return { options };
}

/** Its message is shown to people. */
class Unreadable extends Error {}

type Readers = { [F in OptionField]: (text: string, saved: ModelOptions) => ModelOptions[F] };

const READERS: Readers = {
  headers: (text, saved) => headersOf(text, saved.headers ?? {}),
  query: queryOf,
  fields: (text) =>
    objectOf(text, {
      invalid: i18n.t("The request fields aren't valid JSON."),
      other: i18n.t("The request fields must be a JSON object."),
    }),
  proxy: proxyOf,
  certificate: (text) => text,
  first_byte_seconds: (text) =>
    secondsOf(text, (max) =>
      i18n.t("The first byte timeout must be a whole number of seconds from 1 to {max}.", { max }),
    ),
  silence_seconds: (text) =>
    secondsOf(text, (max) =>
      i18n.t("The idle timeout must be a whole number of seconds from 1 to {max}.", { max }),
    ),
  input_price: (text) =>
    priceIn(text, (bound) =>
      i18n.t("The input price must be a number from 0 to less than {bound}.", { bound }),
    ),
  output_price: (text) =>
    priceIn(text, (bound) =>
      i18n.t("The output price must be a number from 0 to less than {bound}.", { bound }),
    ),
  accepts: (text) =>
    objectOf(text, {
      invalid: i18n.t("The model behavior isn't valid JSON."),
      other: i18n.t("The model behavior must be a JSON object."),
    }),
};

function read<F extends OptionField>(options: ModelOptions, field: F, text: string, saved: ModelOptions) {
  if (text === "") delete options[field];
  else options[field] = READERS[field](text, saved);
}

function headersOf(text: string, saved: Record<string, string | null>): Record<string, string | null> {
  const names = new Set(Object.keys(saved).map((name) => name.toLowerCase()));
  const pairs = pairsOf(text, ":", {
    separator: (line) => i18n.t("Line {line} of the headers has no colon after the name.", { line }),
    name: (line) => i18n.t("Line {line} of the headers has no name before the colon.", { line }),
  });
  // Names of headers are case-insensitive.
  unique(pairs, {
    key: (name) => name.toLowerCase(),
    sentence: (name) => i18n.t("The header {name} is listed more than once.", { name }),
  });
  const valueOf = (name: string, value: string) => {
    if (value === "") throw new Unreadable(i18n.t("The header {name} has no value.", { name }));
    if (!value.includes(DOT)) return value;
    if (value !== SAVED_VALUE) {
      throw new Unreadable(i18n.t("Remove the dots from the new value of the header {name}.", { name }));
    }
    if (names.has(name.toLowerCase())) return null;
    throw new Unreadable(
      i18n.t("The header {name} has no saved value. Replace the dots with a value.", { name }),
    );
  };
  return Object.fromEntries(pairs.map(([name, value]) => [name, valueOf(name, value)]));
}

function isProxy(text: string): boolean {
  try {
    const { protocol, username, password } = new URL(text);
    return PROXY_PROTOCOLS.has(protocol) && username === "" && password === "";
  } catch {
    return false;
  }
}

function proxyOf(text: string): string {
  if (isProxy(text)) return text;
  throw new Unreadable(i18n.t("The proxy must be an http or https URL without a username and password."));
}

function queryOf(text: string): Record<string, string> {
  const pairs = pairsOf(text, "=", {
    separator: (line) =>
      i18n.t("Line {line} of the query parameters has no equals sign after the name.", { line }),
    name: (line) =>
      i18n.t("Line {line} of the query parameters has no name before the equals sign.", { line }),
  });
  unique(pairs, {
    key: (name) => name,
    sentence: (name) => i18n.t("The query parameter {name} is listed more than once.", { name }),
  });
  return Object.fromEntries(pairs);
}

type Pair = [name: string, value: string];

/** Reads one pair per line and skips empty lines. `missing` says which part a line lacks. */
function pairsOf(
  text: string,
  separator: string,
  missing: Record<"separator" | "name", (line: number) => string>,
): Pair[] {
  return text.split("\n").flatMap((line, at): Pair[] => {
    if (line.trim() === "") return [];
    const end = line.indexOf(separator);
    if (end === -1) throw new Unreadable(missing.separator(at + 1));
    const name = line.slice(0, end).trim();
    if (name === "") throw new Unreadable(missing.name(at + 1));
    return [[name, line.slice(end + 1).trim()]];
  });
}

function unique(
  pairs: readonly Pair[],
  { key, sentence }: Record<"key" | "sentence", (name: string) => string>,
): void {
  const seen = new Set<string>();
  for (const [name] of pairs) {
    if (seen.has(key(name))) throw new Unreadable(sentence(name));
    seen.add(key(name));
  }
}

function objectOf(text: string, sentences: Record<"invalid" | "other", string>): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Unreadable(sentences.invalid);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Unreadable(sentences.other);
  }
  return value as JsonObject;
}

function secondsOf(text: string, sentence: (max: string) => string): number {
  const seconds = Number(text);
  if (Number.isInteger(seconds) && seconds >= 1 && seconds <= WAIT_SECONDS_MAX) return seconds;
  throw new Unreadable(sentence(countOf(WAIT_SECONDS_MAX)));
}

function priceIn(text: string, sentence: (bound: string) => string): number {
  const price = Number(text);
  if (price >= 0 && price < PRICE_BOUND) return price;
  throw new Unreadable(sentence(countOf(PRICE_BOUND)));
}

function fieldsOf(texts: OptionTexts): OptionField[] {
  return Object.keys(texts) as OptionField[];
}

function linesOf<V>(values: Record<string, V>, line: (name: string, value: V) => string): string {
  return Object.entries(values)
    .map(([name, value]) => line(name, value))
    .join("\n");
}

function jsonOf(value: JsonObject = {}): string {
  return Object.keys(value).length === 0 ? "" : JSON.stringify(value, null, 2);
}

function numberText(value: number | null | undefined): string {
  return value == null ? "" : String(value);
}

/** Browsers and files differ in how they end lines. */
function tidy(text: string): string {
  return text.replace(/\r\n?/g, "\n").trim();
}
