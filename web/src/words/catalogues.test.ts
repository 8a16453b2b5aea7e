import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

import { createCompiledCatalog, extractFromFileWithBabel } from "@lingui/cli/api";
import { formatter } from "@lingui/format-po";
import { beforeAll, describe, expect, it } from "vitest";

import { compile, needsCatalogue } from "./compile";
import { maySpeak, unspoken } from "./unspoken";

const SOURCE = join(import.meta.dirname, "..");
const LANGUAGES = ["en", "de"] as const;
/** Reading all of the source takes long on a machine that is busy. */
const PATIENCE = 60_000;
/** Names and paths, which are the same in every language. */
const NAMES = /: (Everturn|Anthropic|\/var\/backups\/everturn)$/;

const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  .filter((name) => /\.tsx?$/.test(name) && !/\.(test|d)\.tsx?$/.test(name))
  .map((name) => ({ name, code: readFileSync(join(SOURCE, name), "utf8") }));

/** Every message that the source names. */
const named = new Set<string>();
const catalogues = new Map<string, Map<string, string>>();

type Parser = Parameters<typeof extractFromFileWithBabel>[4];

beforeAll(async () => {
  const context = { linguiConfig: {} } as Parameters<typeof extractFromFileWithBabel>[3];
  for (const { name, code } of files.filter(({ code }) => code.includes("@lingui/"))) {
    const parser = { plugins: name.endsWith("x") ? ["typescript", "jsx"] : ["typescript"] };
    const tell = ({ id }: { id: string }) => named.add(id);
    await extractFromFileWithBabel(name, code, tell, context, parser as Parser, true);
  }
  const format = formatter({ explicitIdAsDefault: true });
  for (const locale of LANGUAGES) {
    const filename = join(SOURCE, `words/${locale}.po`);
    const read = await format.parse(readFileSync(filename, "utf8"), { locale, sourceLocale: "en", filename });
    const kept = Object.entries(read).filter(([, { obsolete }]) => obsolete !== true);
    catalogues.set(locale, new Map(kept.map(([id, { translation }]) => [id, translation ?? ""])));
  }
}, PATIENCE);

/** The names of the values and elements that messages have places for, message by message. */
function places(messages: readonly string[]): string[][] {
  const numbered = Object.fromEntries(messages.map((text, at) => [at, text]));
  const { source, errors } = createCompiledCatalog("en", numbered, { namespace: "json" });
  expect(errors).toEqual([]);
  const compiled = (JSON.parse(source) as { messages: Record<number, unknown> }).messages;
  return messages.map((text, at) => {
    const names = new Set<string>(text.match(/<\/?\d+\/?>/g));
    walk(compiled[at], names);
    return [...names].sort();
  });
}

/** A compiled message is a list of texts and of places: a name, a kind, and forms that are messages again. */
function walk(message: unknown, names: Set<string>): void {
  if (!Array.isArray(message)) return;
  for (const token of message as unknown[]) {
    if (!Array.isArray(token)) continue;
    const [name, , forms] = token as [string, string?, unknown?];
    names.add(name);
    if (typeof forms === "object" && forms !== null)
      for (const form of Object.values(forms)) walk(form, names);
  }
}

describe("catalogues", () => {
  it.each(LANGUAGES)("hold every message of the source: %s", (language) => {
    const kept = catalogues.get(language) ?? new Map<string, string>();
    expect([...named].filter((id) => !kept.get(id))).toEqual([]);
  });

  it.each(LANGUAGES)("hold nothing that the source no longer says: %s", (language) => {
    expect([...(catalogues.get(language)?.keys() ?? [])].filter((id) => !named.has(id))).toEqual([]);
  });

  it("leave out what the page compiles to the same", () => {
    const plain = [...named].filter((text) => !needsCatalogue(text));
    const { source, errors } = createCompiledCatalog("en", Object.fromEntries(plain.entries()), {
      namespace: "json",
    });
    expect(errors).toEqual([]);
    const compiled = (JSON.parse(source) as { messages: Record<number, unknown> }).messages;
    expect(plain.length).toBeGreaterThan(500);
    expect(plain.map(compile)).toEqual(plain.map((_, at) => compiled[at]));
  });

  it("have the same places in every language", () => {
    const german = [...(catalogues.get("de") ?? [])];
    const [ours, theirs] = [places(german.map(([id]) => id)), places(german.map(([, text]) => text))];
    expect(german.filter((_, at) => ours[at]?.join() !== theirs[at]?.join())).toEqual([]);
  });

  it("see the places of a message", () => {
    expect(places(["{count, plural, one {<0>{name}</0>} other {# of {all}}}", "none"])).toEqual([
      ["</0>", "<0>", "all", "count", "name"],
      [],
    ]);
  });
});

describe("the source", () => {
  it(
    "says nothing past the catalogues",
    () => {
      const spoken = files.filter(({ code }) => maySpeak(code));
      const said = spoken.flatMap(({ name, code }) => unspoken(name, code));
      expect(said.filter((line) => !NAMES.test(line))).toEqual([]);
    },
    PATIENCE,
  );

  it("is caught when it does", () => {
    const code = `
      const a = <p title="Words" className="w">More {1} words</p>;
      const b = <p aria-label={on ? "On" : i18n.t("Off")}>{on && "shown"} · </p>;
      announce("Told"); attempt("done", x); why(error, \`not \${x}\`);`;
    expect(unspoken("a.tsx", code).map((line) => line.split(": ")[1])).toEqual([
      "Words",
      "More",
      "words",
      "On",
      "shown",
      "Told",
      "done",
      "not ",
    ]);
  });
});
