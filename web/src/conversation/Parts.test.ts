import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import type { Part } from "../log/types";
import { Parts } from "./Parts";

test.each(["zz_new", { zz_new: {} }, { newer: {} }])(
  "shows a placeholder for a part of a newer version: %j",
  (other) => {
    const parts = [{ text: "herons" }, other as Part, { text: "terns" }];
    const markup = renderToStaticMarkup(createElement(Parts, { parts, live: false }));
    expect(markup).toMatch(/herons.*Reload the page to show this content\..*terns/s);
  },
);
