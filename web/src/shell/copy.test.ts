import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { copy, copyOrNotify } from "./copy";
import { ui } from "./ui";

/** The content of the clipboard. */
let clipboard = "";
let give: ((event: object) => void) | undefined;

/** Stubs a document whose copy command fires the `copy` event if `allowed`. */
function stubDocument({ allowed }: { allowed: boolean }): void {
  const clipboardData = { setData: (_: string, text: string) => (clipboard = text) };
  vi.stubGlobal("document", {
    addEventListener: (_: string, listener: typeof give) => (give = listener),
    removeEventListener: () => (give = undefined),
    execCommand: () => {
      if (allowed) give?.({ clipboardData, preventDefault() {}, stopImmediatePropagation() {} });
      return allowed;
    },
  });
}

beforeEach(() => {
  clipboard = "";
  vi.useFakeTimers();
  ui.setState({ notice: undefined });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

it("copies by the command where the page is not served over HTTPS", async () => {
  vi.stubGlobal("navigator", {});
  stubDocument({ allowed: true });
  expect(await copyOrNotify("a heron")).toBe(true);
  expect(clipboard).toBe("a heron");
  expect(give).toBeUndefined();
  expect(ui.getState().notice).toBeUndefined();
});

it("says what to do where the browser allows no way", async () => {
  vi.stubGlobal("navigator", { clipboard: { writeText: () => Promise.reject(new Error("denied")) } });
  stubDocument({ allowed: false });
  expect(await copyOrNotify("a heron")).toBe(false);
  expect(ui.getState().notice?.text).toBe("Couldn't copy. Select the text and press Ctrl C.");
  await expect(copy("a heron")).rejects.toThrow("denied");
});
