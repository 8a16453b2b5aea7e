import { describe, expect, it } from "vitest";

import { decoded } from "./entities";

describe("character references", () => {
  it.each([
    ["&nbsp;&copy;&yuml;", "\u00a0©ÿ"],
    ["&mdash; &hellip; &rarr; &ne; &check;", "— … → ≠ ✓"],
    ["&Alpha;&Omega;&alpha;&sigmaf;&sigma;&omega;", "ΑΩαςσω"],
    ["&lt;b&gt; &amp; &quot;&apos;", "<b> & \"'"],
    ["&#8212;&#x2014;&#X2014;", "———"],
    ["&#0;&#xd800;&#x110000;&#9999999;", "\ufffd\ufffd\ufffd\ufffd"],
  ])("are decoded: %s", (text, characters) => expect(decoded(text)).toBe(characters));

  it.each(["a & b", "&unknown;", "&copy", "&-;", "&;", "&#;", "&#x;", "&constructor;", "&#12345678;"])(
    "stay as they were written: %s",
    (text) => expect(decoded(text)).toBe(text),
  );

  it("are decoded once", () => expect(decoded("&amp;lt; &#38;copy;")).toBe("&lt; &copy;"));
});
