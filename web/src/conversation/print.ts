// Printing a session whole: turns that the page does not have are loaded first, and no turn is virtualized meanwhile.

import { i18n } from "@lingui/core";
import { useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";

import { attempt } from "../shell/attempt";
import type { Earlier } from "./earlier";

/**
 * `print` loads the whole session and opens the browser's dialog. `printing` is true while a dialog is open, also one that the
 * browser's menu opened: that one prints what is loaded, because a page cannot make it wait.
 */
export function usePrint({ missing, loadAll }: Pick<Earlier, "missing" | "loadAll">) {
  const printing = usePrinting();
  const [ready, setReady] = useState(false);
  const loading = useRef(false);
  // Once what was loaded is in the page, and outside of its rendering: the dialog holds everything up.
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

/** Whether the page is being printed. It is drawn before the event ends, because the browser prints what is there then. */
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
