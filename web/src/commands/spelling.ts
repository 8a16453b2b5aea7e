// Keys as they are written on the keyboard in front of the person. `Mod` is the key that commands are given with: Command on a
// Mac, Control elsewhere.

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

/** What a thing is called, with the keys that do the same. */
export function withKeys(label: string, keys: string): string {
  return `${label} (${spelt(keys)})`;
}
