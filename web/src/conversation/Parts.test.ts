import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import type { Part } from "../log/types";
import { Parts } from "./Parts";

test.each(["zz_new", { zz_new: {} }, { newer: {} }])(
  "a part that only a newer version can show says so between the others: %j",
  (other) => {
    const parts = [{ text: "herons" }, other as Part, { text: "terns" }];
    const markup = renderToStaticMarkup(createElement(Parts, { parts, live: false }));
    expect(markup).toMatch(/herons.*This part needs a newer page\. Reload it\..*terns/s);
  },
);
