import { describe, expect, it } from "vitest";

import { readOptions, SAVED_VALUE, textsIn, textsOf, type ModelOptions } from "./modelOptions";

const PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----";

/** Options that set every field. */
const FULL: ModelOptions = {
  headers: { "x-team": "birds", "x-url": "http://a.example:1/b=c" },
  query: { "api-version": "2025-04-01", filter: "a=b", flag: "" },
  fields: { temperature: 0.2, stream_options: null, provider: { order: ["groq"] } },
  proxy: "http://proxy.example:3128",
  certificate: PEM,
  first_byte_seconds: 90,
  silence_seconds: 86_400,
  input_price: 0,
  output_price: 0.0000001,
  accepts: { output_limit: "max_tokens", tools: false },
};

/** Saves `texts` over `saved`, whose other texts stay. */
const change = (saved: ModelOptions, texts: Partial<ReturnType<typeof textsOf>>) =>
  readOptions({ ...textsOf(saved), ...texts }, saved);

const refusalOf = (texts: Partial<ReturnType<typeof textsOf>>, saved: ModelOptions = {}) =>
  change(saved, texts).refusal;

describe("a round trip", () => {
  it.each(Object.keys(FULL) as (keyof ModelOptions)[])("restores %s", (field) => {
    const options = { [field]: FULL[field] };
    expect(readOptions(textsOf(options), {})).toEqual({ options });
  });

  it("restores all options together", () => {
    expect(readOptions(textsOf(FULL), {})).toEqual({ options: FULL });
  });

  it("goes through the fields of a form", () => {
    const form = new FormData();
    for (const [field, text] of Object.entries(textsOf(FULL))) form.set(field, `${text}\r\n`);
    expect(readOptions(textsIn(form), {})).toEqual({ options: FULL });
  });
});

describe("options that aren't changed", () => {
  it("are not sent", () => {
    const saved = { ...FULL, headers: { "x-team": null }, certificate: `${PEM}\n`.replaceAll("\n", "\r\n") };
    expect(change(saved, {})).toEqual({ options: undefined });
    expect(change(saved, { query: `${textsOf(saved).query}\n`.replaceAll("\n", "\r\n") })).toEqual({
      options: undefined,
    });
    expect(change({}, { fields: " \n" })).toEqual({ options: undefined });
  });

  it("stay exactly as saved when others change", () => {
    const saved = { query: { "a=b": " two\nlines " }, certificate: `${PEM}\n` };
    expect(change(saved, { input_price: "2.5" })).toEqual({ options: { ...saved, input_price: 2.5 } });
  });
});

describe("an emptied text", () => {
  it.each(Object.keys(FULL) as (keyof ModelOptions)[])("removes %s", (field) => {
    expect(change({ [field]: FULL[field] }, { [field]: "" })).toEqual({ options: {} });
  });

  it("leaves no property behind", () => {
    expect(JSON.stringify(change({ proxy: "http://a.example" }, { proxy: "" }))).toBe('{"options":{}}');
  });
});

describe("saved headers", () => {
  const saved = { headers: { "x-team": null, "x-token": null } };

  it("show dots instead of their values", () => {
    expect(textsOf(saved).headers).toBe("x-team: ••••\nx-token: ••••");
  });

  it.each([
    [
      "are kept, in any case",
      "X-Team: ••••\nx-token:••••\nx-new: 1",
      { "X-Team": null, "x-token": null, "x-new": "1" },
    ],
    ["are replaced", "x-team: fish\nx-token: ••••", { "x-team": "fish", "x-token": null }],
    ["are removed with their line", "x-token: ••••", { "x-token": null }],
  ])("%s", (_, headers, read) => {
    expect(change(saved, { headers })).toEqual({ options: { headers: read } });
  });

  it("are all removed with the last line", () => {
    expect(change(saved, { headers: "" })).toEqual({ options: {} });
  });

  it("stay when another option changes", () => {
    expect(change(saved, { silence_seconds: "60" })).toEqual({ options: { ...saved, silence_seconds: 60 } });
  });
});

it("reads lines with blanks around names and values, and skips empty lines", () => {
  expect(
    change({}, { headers: "\n  x-team :  birds of prey \n\n__proto__: a", query: " a = b \n\nc=" }),
  ).toEqual({
    options: {
      headers: Object.fromEntries([
        ["x-team", "birds of prey"],
        ["__proto__", "a"],
      ]),
      query: { a: "b", c: "" },
    },
  });
});

describe("a refusal", () => {
  const saved = { headers: { "x-team": null } };

  it.each([
    ["x-team: a\n\nx-token", "Line 3 of the headers has no colon after the name."],
    [": a", "Line 1 of the headers has no name before the colon."],
    ["x-team:", "The header x-team has no value."],
    ["x-team: a\nX-Team: b", "The header X-Team is listed more than once."],
    [`x-team: ${SAVED_VALUE}new`, "Remove the dots from the new value of the header x-team."],
    ["x-team: ••", "Remove the dots from the new value of the header x-team."],
    [`x-other: ${SAVED_VALUE}`, "The header x-other has no saved value. Replace the dots with a value."],
  ])("of headers: %j", (headers, sentence) => {
    expect(refusalOf({ headers }, saved)).toEqual({ field: "headers", sentence });
  });

  it.each([
    ["a=b\nc", "Line 2 of the query parameters has no equals sign after the name."],
    ["=b", "Line 1 of the query parameters has no name before the equals sign."],
    ["a=1\na=2", "The query parameter a is listed more than once."],
  ])("of query parameters: %j", (query, sentence) => {
    expect(refusalOf({ query })).toEqual({ field: "query", sentence });
  });

  it.each([
    ["fields", "{", "The request fields aren't valid JSON."],
    ["fields", "[]", "The request fields must be a JSON object."],
    ["fields", "null", "The request fields must be a JSON object."],
    ["accepts", "{tools: false}", "The model behavior isn't valid JSON."],
    ["accepts", '"tools"', "The model behavior must be a JSON object."],
  ])("of %s: %j", (field, text, sentence) => {
    expect(refusalOf({ [field]: text })).toEqual({ field, sentence });
  });

  it.each(["proxy", "ftp://proxy.example", "http://user:pass@proxy.example"])("of proxies: %s", (text) => {
    expect(refusalOf({ proxy: text })).toEqual({
      field: "proxy",
      sentence: "The proxy must be an http or https URL without a username and password.",
    });
  });

  it.each(["0", "1.5", "86401", "soon", "-1"])("of timeouts: %s", (text) => {
    expect(refusalOf({ first_byte_seconds: text })).toEqual({
      field: "first_byte_seconds",
      sentence: "The first byte timeout must be a whole number of seconds from 1 to 86,400.",
    });
    expect(refusalOf({ silence_seconds: text })).toEqual({
      field: "silence_seconds",
      sentence: "The idle timeout must be a whole number of seconds from 1 to 86,400.",
    });
  });

  it.each(["-0.1", "1000000", "cheap"])("of prices: %s", (text) => {
    expect(refusalOf({ input_price: text })).toEqual({
      field: "input_price",
      sentence: "The input price must be a number from 0 to less than 1,000,000.",
    });
    expect(refusalOf({ output_price: text })).toEqual({
      field: "output_price",
      sentence: "The output price must be a number from 0 to less than 1,000,000.",
    });
  });

  it("names the first field that is wrong", () => {
    expect(refusalOf({ query: "a", accepts: "{" })?.field).toBe("query");
  });
});
