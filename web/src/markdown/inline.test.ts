import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";

import { Markdown } from "./Markdown";

/** Renders a text without the outer element and attributes. */
const drawn = (text: string) =>
  renderToStaticMarkup(createElement(Markdown, { text }))
    .replace(/^<div class="prose">|<\/div>$/g, "")
    .replaceAll(/ (?:dir|rel|target)="[^"]*"/g, "");

describe("a line break in HTML", () => {
  it.each(["<br>", "<br/>", "<br />", "<BR>"])("is drawn: %s", (tag) => {
    expect(drawn(`one${tag}two`)).toBe("<p>one<br/>two</p>");
  });

  it("is drawn in the cell of a table", () => {
    expect(drawn("| a<br>b |\n|---|\n| c<br>d |")).toMatch(/<th>a<br\/>b<\/th>.*<td>c<br\/>d<\/td>/);
  });

  it("is drawn at the beginning of a line, with the Markdown around it", () => {
    expect(drawn("one\n\n<br>\n**two**")).toBe("<p>one</p><p><br/>\n<strong>two</strong></p>");
  });

  it.each(["<br onclick=x>", "<brx>", "<b>", "<img src=x>", "</br>"])("is nothing else: %s", (tag) => {
    const shown = tag.replaceAll("<", "&lt;").replaceAll(">", "&gt;");
    expect(drawn(`one ${tag} two`)).toBe(`<p>one ${shown} two</p>`);
  });
});

describe("character references in Markdown", () => {
  it.each([
    ["a&nbsp;b &mdash; &#8212; &#x2014;", "<p>a\u00a0b — — —</p>"],
    ["R&amp;D & &#38;copy;", "<p>R&amp;D &amp; &amp;copy;</p>"],
    ["&lt;b&gt;**&copy;**", "<p>&lt;b&gt;<strong>©</strong></p>"],
    ["## &rarr; end", "<h4>→ end</h4>"],
    ["[&copy;](https://e.org/?a&amp;b)", '<p><a href="https://e.org/?a&amp;b">©</a></p>'],
  ])("are decoded: %s", (text, markup) => expect(drawn(text)).toBe(markup));

  it.each([
    ["`&copy;`", "<p><code>&amp;copy;</code></p>"],
    ["\\&copy;", "<p>&amp;copy;</p>"],
    ["<https://e.org/&copy;>", '<p><a href="https://e.org/&amp;copy;">https://e.org/&amp;copy;</a></p>'],
  ])("stay as they were written: %s", (text, markup) => expect(drawn(text)).toBe(markup));

  it("stay as they were written in blocks of code", () => {
    expect(drawn("```\n&copy; &#8212;\n```")).toContain("<code>&amp;copy; &amp;#8212;</code>");
  });

  it("do not hide the scheme of an address", () => {
    expect(drawn("[x](javascript&colon;alert(1))")).not.toContain("<a");
  });
});
