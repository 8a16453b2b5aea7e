// Which language the page speaks: chosen on this device, or the first of the browser's that there is. English is part of the
// page; another is fetched alone, before anything is drawn.

import { i18n, type Messages } from "@lingui/core";

import { read, tryWrite } from "../storage/local";
import { messages as english } from "./en.po";

const PLACE = "language";

/** Languages by their codes, each by its own name. */
export const LANGUAGES = { en: "English", de: "Deutsch" } as const;
export type Language = keyof typeof LANGUAGES;

const CATALOGUES: Record<Exclude<Language, "en">, () => Promise<{ messages: Messages }>> = {
  de: () => import("./de.po"),
};

function isLanguage(code: string | null | undefined): code is Language {
  return code != null && Object.hasOwn(LANGUAGES, code);
}

/** `de` of `de-AT`. */
function base(tag: string): string {
  return tag.toLowerCase().split("-")[0] ?? "";
}

/** The language for what was chosen here and what the browser asks for. */
export function choose(kept: string | null, wanted: readonly string[]): Language {
  if (isLanguage(kept)) return kept;
  return wanted.map(base).find(isLanguage) ?? "en";
}

/** The browser's own form of a language, for how it writes times and numbers: `en-GB` of `en`. */
export function regional(language: string, wanted: readonly string[]): string {
  return wanted.find((tag) => base(tag) === language) ?? language;
}

/** The language that the page speaks. */
export function language(): Language {
  return isLanguage(i18n.locale) ? i18n.locale : "en";
}

/** Loads the language of the page. It is English until then, and stays so when the other cannot be fetched. */
export async function speak(): Promise<void> {
  // An English message without a place for a value is its own name, and is in no catalogue.
  if (import.meta.env.PROD) i18n.setMessagesCompiler((text) => [text]);
  activate("en", english);
  const language = choose(read(PLACE), navigator.languages);
  if (language === "en") return;
  try {
    const { messages } = await CATALOGUES[language]();
    activate(language, { ...english, ...messages });
  } catch {
    return;
  }
}

function activate(language: Language, messages: Messages): void {
  i18n.loadAndActivate({ locale: language, locales: regional(language, navigator.languages), messages });
  document.documentElement.lang = language;
}

/**
 * Changes the language of this device. The page is read anew: what was typed is kept. One that was chosen before and could not
 * be fetched is not tried again and again.
 */
export function setLanguage(chosen: Language): void {
  const before = read(PLACE);
  tryWrite(PLACE, chosen);
  if (chosen !== before && chosen !== language()) location.reload();
}
