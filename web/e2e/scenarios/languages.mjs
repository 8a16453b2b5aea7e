// The page speaks the person's language, and nothing typed is in the way of that.

import assert from "node:assert/strict";

import { field, open, until } from "../world.mjs";
import { choose } from "./look.mjs";

const spoken = (page) => page.evaluate(() => document.documentElement.lang);

export const languages = {
  async languages(world) {
    const session = await world.session("sprachen");
    const page = await world.page();
    await open(page, world, session);
    assert.equal(await spoken(page), "en");
    await field(page).fill("ein Entwurf");
    await choose(page, "deutsch", "Language: Deutsch");
    const german = page.getByRole("textbox", { name: "Nachricht", exact: true });
    await german.waitFor();
    assert.equal(await spoken(page), "de");
    assert.equal(await german.inputValue(), "ein Entwurf");
    await german.fill("say 3 of amsel");
    await german.press("Enter");
    await until("it is answered", async () =>
      (await page.locator(".parts .prose").textContent()).includes("amsel.3"),
    );
    await page.getByRole("button", { name: "Antwort kopieren" }).waitFor({ state: "attached" });
    await until("the title is German", async () => (await page.title()) === "sprachen — Everturn");
    // F6 and letters do not depend on the words of the page.
    for (let tries = 0; tries < 3 && (await page.locator(".thread:focus").count()) === 0; tries += 1)
      await page.keyboard.press("F6");
    await page.keyboard.press("k");
    assert.equal(await page.locator("article:focus").count(), 1);
    await choose(page, "english", "Sprache: English");
    await field(page).waitFor();
    assert.equal(await spoken(page), "en");
  },

  async browser_language(world) {
    const page = await world.visit({ locale: "de-AT" });
    await until("it is German", async () => (await spoken(page)) === "de");
    const other = await world.visit({ locale: "fr-FR" });
    await until("it is English", async () => (await spoken(other)) === "en");
  },
};
