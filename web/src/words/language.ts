// Which language the pages speak.

import { i18n } from "@lingui/core";

const PLACE = "language";

export function language(): string {
  return localStorage.getItem(PLACE) ?? "en";
}

export function setLanguage(code: "en" | "de"): void {
  localStorage.setItem(PLACE, code);
  document.documentElement.lang = code;
  i18n.activate(code);
}
