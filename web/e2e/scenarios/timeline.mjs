// What happened in a session can be read, by whoever was not there.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { shows, stopButton } from "./look.mjs";

const entries = (page) => page.locator(".log li");
const told = async (page) => (await entries(page).locator("p").allTextContents()).map((text) => text.trim());

export const timeline = {
  async timeline_tells_what_happened(world) {
    const session = await world.session("A day at the lake");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3000 of bittern pace 15");
    await shows(page, 10, "bittern");
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
    await say(page, "say 400 of teal pace 10");
    await shows(page, 10, "teal");
    await world.kill();
    await world.serve();
    await shows(page, 400, "teal", 30_000);
    await until("it rests", async () => (await world.ask("GET", `/sessions/${session}`)).run == null);
    await world.ask("PATCH", `/sessions/${session}`, { title: "A night at the lake" });
    await world.ask("PATCH", `/sessions/${session}`, { tags: ["lake"] });

    await page.getByRole("link", { name: "Timeline" }).click();
    await entries(page).first().waitFor();
    const all = await told(page);
    const has = (words) => all.some((text) => text.startsWith(words));
    for (const words of [
      "You set the tags to lake.",
      "You named the session “A night at the lake”.",
      "The answer is complete.",
      "The agent resumed the interrupted answer automatically.",
      "The answer was interrupted: the server stopped unexpectedly.",
      "Session reopened by writer ",
      "The agent wrote ",
      "You stopped the answer.",
      "The agent started answering.",
      "You sent a message.",
      "Session created as “A day at the lake”.",
    ])
      assert.ok(has(words), `${words} is not in ${all.join(" | ")}`);
    assert.ok(!has("Reload the page to show this content."));
    const at = (words) => all.findIndex((text) => text.startsWith(words));
    assert.ok(at("The answer is complete.") < at("You stopped the answer."), "newest first");
    await entries(page).locator("blockquote", { hasText: "say 3000 of bittern" }).waitFor();
    await page.getByRole("heading", { level: 2 }).first().waitFor();

    await page.getByRole("radio", { name: "User actions" }).check();
    const people = await told(page);
    assert.ok(
      people.length > 0 && people.every((text) => text.startsWith("You ") || text.startsWith("Session ")),
    );
    await page.getByRole("radio", { name: "Problems" }).check();
    assert.equal((await told(page)).length, 2);
    await page.getByRole("link", { name: "Back to session" }).click();
    await shows(page, 400, "teal");
  },

  async timeline_comes_by_pages(world) {
    const session = await world.session("Named again and again");
    for (let count = 1; count <= 130; count += 1)
      await world.ask("PATCH", `/sessions/${session}`, { title: `Name ${count}` });
    const page = await world.page();
    await page.goto(`${world.origin}/s/${session}/timeline`);
    await entries(page).first().waitFor();
    const first = await entries(page).count();
    assert.ok(first < 130);
    await page.getByRole("button", { name: "Show earlier" }).click();
    await until("all is there", async () =>
      (await told(page)).some((text) => text.startsWith("Session created")),
    );
    const names = (await told(page)).filter((text) => text.startsWith("You named"));
    assert.equal(new Set(names).size, 130, "each once, none left out");
    assert.equal(names.length, 130);
    assert.equal(await page.getByRole("button", { name: "Show earlier" }).count(), 0);
  },
};
