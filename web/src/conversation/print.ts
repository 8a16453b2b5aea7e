// Prints a whole session: loads the missing turns first and disables virtualization meanwhile.

import { i18n } from "@lingui/core";
import { useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";

import { attempt } from "../shell/attempt";
import type { Earlier } from "./earlier";

/**
 * `print` loads the whole session and opens the print dialog. `printing` is true while a print dialog is open.
 * A dialog opened from the browser's menu prints only the loaded turns, because a page cannot delay it.
 */
export function usePrint({ missing, loadAll }: Pick<Earlier, "missing" | "loadAll">) {
  const printing = usePrinting();
  const [ready, setReady] = useState(false);
  const loading = useRef(false);
  // Waits until the loaded turns are mounted. `print` blocks, so it runs outside of rendering.
  useEffect(() => {
    if (!ready) return;
    setReady(false);
    queueMicrotask(() => window.print());
  }, [ready]);
  const load = async () => {
    loading.current = true;
    const whole = missing === 0 || (await loadAll());
    loading.current = false;
    if (!whole) throw new Error("the session is not loaded");
    setReady(true);
  };
  const print = () => {
    if (loading.current) return;
    void attempt(
      i18n.t("Couldn't load the whole session to print it. Try again when the server is back."),
      load(),
    );
  };
  return { printing, print };
}

/**
 * Returns whether the page is being printed. Renders synchronously, because the browser prints the page right
 * after the event.
 */
function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useEffect(() => {
    const before = () => flushSync(() => setPrinting(true));
    const after = () => setPrinting(false);
    window.addEventListener("beforeprint", before);
    window.addEventListener("afterprint", after);
    return () => {
      window.removeEventListener("beforeprint", before);
      window.removeEventListener("afterprint", after);
    };
  }, []);
  return printing;
}
