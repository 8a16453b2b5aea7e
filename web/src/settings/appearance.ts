// How the pages look on this device: light or dark, and how large the text is.

export type Theme = "system" | "light" | "dark";
export type TextSize = "small" | "normal" | "large" | "largest";

export interface Appearance {
  theme: Theme;
  text: TextSize;
}

const THEMES: readonly string[] = ["light", "dark"];
const SIZES: readonly string[] = ["small", "large", "largest"];

function kept(name: string): string {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return "";
  }
}

export function appearance(): Appearance {
  const [theme, text] = [kept("theme"), kept("text")];
  return {
    theme: THEMES.includes(theme) ? (theme as Theme) : "system",
    text: SIZES.includes(text) ? (text as TextSize) : "normal",
  };
}

/** Puts it on the page. */
export function show({ theme, text }: Appearance): void {
  const { dataset } = document.documentElement;
  dataset["theme"] = theme;
  dataset["text"] = text;
}

/** A browser that keeps nothing shows it until the page is left. */
export function choose(chosen: Appearance): void {
  try {
    for (const [name, value] of Object.entries(chosen)) localStorage.setItem(name, value);
  } catch {
    // It is shown all the same.
  }
  show(chosen);
}
