// The language of the page: chosen on this device, or the first supported one of the browser's. English is part of the
// page; another language is fetched before the first render.

import { i18n, type Messages } from "@lingui/core";

import { read, tryWrite } from "../storage/local";
import { compile } from "./compile";
import { messages as english } from "./en.po";

const PLACE = "language";

/** Language codes and the languages' own names. */
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

/** Returns the saved language if it is supported, or else the first supported one of `wanted`. */
export function choose(kept: string | null, wanted: readonly string[]): Language {
  if (isLanguage(kept)) return kept;
  return wanted.map(base).find(isLanguage) ?? "en";
}

/** Returns the browser's regional variant, such as `en-GB`, for formatting times and numbers. */
export function regional(language: string, wanted: readonly string[]): string {
  return wanted.find((tag) => base(tag) === language) ?? language;
}

/** Returns the language of the page. */
export function language(): Language {
  return isLanguage(i18n.locale) ? i18n.locale : "en";
}

/** Loads the language of the page. English is used until then, and if the fetch fails. */
export async function speak(): Promise<void> {
  if (import.meta.env.PROD) i18n.setMessagesCompiler(compile);
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
 * Changes the language of this device and reloads the page; drafts are saved. Does not reload for a language that was
 * already chosen but failed to load.
 */
export function setLanguage(chosen: Language): void {
  const before = read(PLACE);
  tryWrite(PLACE, chosen);
  if (chosen !== before && chosen !== language()) location.reload();
}
