// The names of keys on the user's keyboard. `Mod` is Command on a Mac and Control elsewhere.

import { i18n } from "@lingui/core";

export const isMac = /^(Mac|iP(hone|ad|od))/.test(globalThis.navigator?.platform ?? "");

function nameOf(key: string): string {
  switch (key) {
    case "Mod":
      return isMac ? "Cmd" : i18n.t("Ctrl");
    case "Alt":
      return isMac ? "Option" : "Alt";
    case "Shift":
      return i18n.t("Shift");
    case "Enter":
      return i18n.t("Enter");
    case "Escape":
      return i18n.t("Esc");
    case "ArrowUp":
      return "↑";
    case "ArrowDown":
      return "↓";
    case "Home":
      return i18n.t("Home");
    case "End":
      return i18n.t("End");
    default:
      return key.length === 1 ? key.toUpperCase() : key;
  }
}

/** `Mod+Shift+o` as `Ctrl Shift O`. */
export function spelt(keys: string): string {
  return keys.split("+").map(nameOf).join(" ");
}

/** Appends the keyboard shortcut to a label. */
export function withKeys(label: string, keys: string): string {
  return `${label} (${spelt(keys)})`;
}
