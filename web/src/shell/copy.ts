// Copies to the clipboard. Browsers offer the Clipboard API only over HTTPS; `execCommand` is the fallback.

import { i18n } from "@lingui/core";

import { spelt } from "../commands/spelling";
import { announce } from "./announce";
import { ui } from "./ui";

/**
 * Copies a text and announces it to screen readers.
 *
 * @throws if the browser allows neither way.
 */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch (error) {
    if (!copyByCommand(text)) throw error;
  }
  announce(i18n.t("Copied."));
}

/** Copies a text, or shows a notice that says how to copy it by hand. Returns whether it was copied. */
export async function copyOrNotify(text: string): Promise<boolean> {
  try {
    await copy(text);
    return true;
  } catch {
    const words = notCopied();
    ui.setState({ notice: { text: words, kind: "refused" } });
    announce(words);
    return false;
  }
}

export function notCopied(): string {
  return i18n.t("Couldn't copy. Select the text and press {keys}.", { keys: spelt("Mod+c") });
}

/** Sets the text on the `copy` event, so that the user's selection and focus do not change. */
function copyByCommand(text: string): boolean {
  let copied = false;
  const give = (event: ClipboardEvent) => {
    if (event.clipboardData === null) return;
    event.clipboardData.setData("text/plain", text);
    event.preventDefault();
    event.stopImmediatePropagation();
    copied = true;
  };
  document.addEventListener("copy", give, { capture: true });
  try {
    return document.execCommand("copy") && copied;
  } finally {
    document.removeEventListener("copy", give, { capture: true });
  }
}
