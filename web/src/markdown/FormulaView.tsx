// A formula: as it was written until it is drawn, and when it cannot be.

import { i18n } from "@lingui/core";
import { createContext, useContext, useLayoutEffect, useRef, useState } from "react";

import { inSlices } from "./budget";
import type { Formula } from "./maths";

/** Whether what comes next may still change what is read here: then nothing is drawn yet. */
export const Growing = createContext(false);

type Draw = typeof import("./tex").draw;
let known: Draw | undefined;

export function FormulaView({ token }: { token: Formula }) {
  const { raw, text, display, closed } = token;
  const [drawn, setDrawn] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  const growing = useContext(Growing);
  const wanted = closed && !growing;
  useLayoutEffect(() => {
    const element = place.current;
    if (!wanted || element === null) return;
    let shown = true;
    let cancel = () => {};
    const drawNow = (draw: Draw) => {
      if (shown) cancel = inSlices(() => setDrawn(draw(element, text, display)));
    };
    if (known !== undefined) drawNow(known);
    else
      void import("./tex").then(
        ({ draw }) => drawNow((known = draw)),
        () => {}, // Out of reach: it stays as it was written.
      );
    return () => {
      shown = false;
      cancel();
    };
  }, [wanted, text, display]);
  const across = display && drawn;
  return (
    <span
      className={display ? "formula display" : "formula"}
      dir="ltr"
      // Formulas that scroll can be reached by keyboard.
      {...(across ? { tabIndex: 0, role: "group", "aria-label": i18n.t("Formula") } : {})}
    >
      {/* Kept in the page: what was shown once never shrinks. */}
      <code hidden={drawn && wanted}>{raw.trim()}</code>
      <span ref={place} hidden={!drawn || !wanted} />
    </span>
  );
}
