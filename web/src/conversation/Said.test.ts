import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";

import { Said } from "./Said";

it("takes the direction of a message from its words, and keeps that of a file's name apart", () => {
  const attachments = [{ blob: "b", name: "تقرير.pdf", media_type: "application/pdf", size_bytes: 1 }];
  const markup = renderToStaticMarkup(createElement(Said, { message: { text: "مرحبا", attachments } }));
  expect(markup).toContain('<div class="words" dir="auto">مرحبا</div>');
  expect(markup).toContain("<bdi>تقرير.pdf</bdi>");
});
