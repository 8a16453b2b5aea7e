// The theme and text size on this device.

import { read, tryWrite } from "../storage/local";

export type Theme = "system" | "light" | "dark";
export type TextSize = "small" | "normal" | "large" | "largest";

export interface Appearance {
  theme: Theme;
  text: TextSize;
}

const THEMES: readonly string[] = ["light", "dark"];
const SIZES: readonly string[] = ["small", "large", "largest"];

export function appearance(): Appearance {
  const [theme, text] = [read("theme") ?? "", read("text") ?? ""];
  return {
    theme: THEMES.includes(theme) ? (theme as Theme) : "system",
    text: SIZES.includes(text) ? (text as TextSize) : "normal",
  };
}

/** Applies the appearance to the page. */
export function show({ theme, text }: Appearance): void {
  const { dataset } = document.documentElement;
  dataset["theme"] = theme;
  dataset["text"] = text;
}

/** Saves and applies the appearance. Without storage it lasts until the page is closed. */
export function choose(chosen: Appearance): void {
  for (const [name, value] of Object.entries(chosen)) tryWrite(name, value);
  show(chosen);
}
