// What was said is found again, and taken along as a file.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { open, say, until } from "../world.mjs";
import { answered, menu, nav } from "./list.mjs";
import { messages, shows } from "./look.mjs";

export const searching = {
  async search_filters(world) {
    const word = world.unusedWord("avocet");
    const notes = `Notes on ${word}s`;
    const [session, put] = [await world.session(notes), await world.session("Put away")];
    for (const text of [`say 3 of ${word}`, "say 2 of dunlin"]) {
      await world.ask("POST", `/sessions/${session}/messages`, { text });
      await answered(world, session);
    }
    await world.ask("POST", `/sessions/${put}/messages`, { text: `say 2 of ${word}` });
    await answered(world, put);
    await world.ask("PATCH", `/sessions/${put}`, { archived: true });
    await world.ask("PATCH", `/sessions/${session}`, { tags: ["waders"] });
    // Words are indexed behind the log.
    await until("all is indexed", async () => {
      const { hits } = await world.ask("GET", `/search?words=${word}&count=20`);
      return new Set(hits.map((hit) => hit.session)).size === 2;
    });
    const page = await world.page();
    const groups = () =>
      page
        .locator(".found")
        .evaluateAll((nodes) => nodes.map((node) => node.querySelector(".t").textContent));
    const finds = (...titles) =>
      until(
        `${titles} are found`,
        async () => JSON.stringify((await groups()).toSorted()) === JSON.stringify(titles.toSorted()),
      );
    await page.keyboard.press("Control+Shift+F");
    await until("the search has the focus", () =>
      nav(page)
        .getByRole("searchbox")
        .evaluate((node) => node === document.activeElement),
    );
    await page.keyboard.type(word);
    await finds(notes, "Put away");
    const marked = await page.locator(".found mark").allTextContents();
    assert.ok(marked.length >= 3, `hits are marked: ${marked}`);
    assert.ok(
      marked.every((text) => text.toLowerCase().startsWith(word)),
      `only hits are marked: ${marked}`,
    );
    await page.locator(".found", { hasText: "Put away" }).getByText("Archived").waitFor();

    await page.getByText("Filters").click();
    await page.getByLabel("Search in").selectOption("archived");
    await finds("Put away");
    await page.getByLabel("Search in").selectOption("");
    await page.getByLabel("Tag").selectOption("waders");
    await finds(notes);
    await page.getByLabel("Written by").selectOption("person");
    await until("only messages", async () => {
      const who = await page.locator(".hit .who").allTextContents();
      return who.length > 0 && who.every((text) => text.startsWith("You"));
    });
    await page.getByLabel("Search in").selectOption("trash");
    await page.getByText(`No results for “${word}” with these filters.`).waitFor();
    await page.getByRole("button", { name: "Clear filters" }).click();
    await finds(notes, "Put away");

    // Each leads to its turn.
    await page.locator(".hit", { hasText: `say 3 of ${word}` }).click();
    await until("its session is shown", () => page.url().includes(`${session}?turn=`));
    await until("its turn is in sight", () =>
      page.locator("article[data-turn]", { hasText: `say 3 of ${word}` }).isVisible(),
    );
    assert.deepEqual(await messages(page), [`say 3 of ${word}`, "say 2 of dunlin"]);
  },

  /** An answer that comes late does not take the place of a newer one. */
  async search_in_order(world) {
    await world.session("Late larks");
    await world.session("Early egrets");
    const page = await world.page();
    const held = later();
    await page.route("**/search?words=larks*", async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.getByRole("searchbox").fill("larks");
    await page.waitForRequest(/words=larks/);
    await page.getByRole("searchbox").fill("egrets");
    await page.locator(".found", { hasText: "Early egrets" }).waitFor();
    const answered = page.waitForResponse(/words=larks/);
    held.resolve();
    await answered;
    await page.evaluate(
      () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))),
    );
    assert.equal(await page.locator(".found", { hasText: "Late larks" }).count(), 0);
    assert.equal(await page.locator(".found", { hasText: "Early egrets" }).count(), 1);
  },

  async exports(world) {
    const session = await world.session("Export of egrets");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3 of egret");
    await shows(page, 3, "egret");
    for (const [word, ending] of [
      ["Markdown", "md"],
      ["HTML", "html"],
      ["JSON", "json"],
    ]) {
      const coming = page.waitForEvent("download");
      await menu(page, "Export of egrets", `Export as ${word}`);
      const download = await coming;
      assert.ok(download.suggestedFilename().endsWith(`.${ending}`), download.suggestedFilename());
      const place = join(world.home, download.suggestedFilename());
      await download.saveAs(place);
      const text = readFileSync(place, "utf8");
      assert.ok(text.includes("say 3 of egret") && text.includes("egret.3"), `${word} has all that was said`);
    }
  },
};

/** A promise, and what lets it come true. */
function later() {
  let resolve;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
