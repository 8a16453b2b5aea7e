import { describe, expect, it } from "vitest";

import { choose, regional } from "./language";
import { messages as german } from "./de.po";
import { messages as english } from "./en.po";

describe("the language", () => {
  it("is the one that was chosen here", () => {
    expect(choose("de", ["en-US"])).toBe("de");
    expect(choose("en", ["de-DE"])).toBe("en");
  });

  it("is the first of the browser's that there is", () => {
    expect(choose(null, ["fr-FR", "de-AT", "en"])).toBe("de");
    expect(choose("xx", ["EN-gb", "de"])).toBe("en");
  });

  it("is English when there is none of them", () => {
    expect(choose(null, ["fr", "ja"])).toBe("en");
    expect(choose("constructor", [])).toBe("en");
  });

  it("writes times and numbers as the browser's region does", () => {
    expect(regional("en", ["de-DE", "en-GB", "en"])).toBe("en-GB");
    expect(regional("de", ["en-GB"])).toBe("de");
  });
});

describe("a catalogue", () => {
  it("is compiled where it is imported", () => {
    expect(german["{at} of {count}"]).toEqual([["at"], " von ", ["count"]]);
    expect(german["Send"]).toEqual(["Senden"]);
  });

  it("leaves out English messages that the page compiles itself", () => {
    expect(english["{count, plural, one {# draft} other {# drafts}}"]).toBeDefined();
    expect(english["{at} of {count}"]).toBeUndefined();
    expect(english["Send"]).toBeUndefined();
  });
});
