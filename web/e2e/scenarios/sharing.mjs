// A session is read by a link, by somebody who has no login, until the link is withdrawn.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { menu } from "./list.mjs";
import { messages, shows } from "./look.mjs";

/** Opens the dialog of a session's links. */
async function share(page, title) {
  await menu(page, title, "Share");
  await page.getByRole("dialog").getByRole("heading", { name: "Share session" }).waitFor();
}

/** Makes a link, and tells what it is. */
async function make(page) {
  await page.getByRole("dialog").getByRole("button", { name: "Create link" }).click();
  const field = page.getByRole("dialog").getByLabel("Share link");
  await field.waitFor();
  return field.inputValue();
}

/** Somebody else's browser, and all that it asks for from then on. */
async function stranger(world) {
  const page = await world.visit();
  await page.getByLabel("Password").waitFor();
  const asked = [];
  page.on("request", (request) => asked.push(new URL(request.url()).pathname));
  page.on("websocket", (socket) => asked.push(new URL(socket.url()).pathname));
  return { page, asked };
}

export const sharing = {
  async shared_and_withdrawn(world) {
    const session = await world.session("Shared shelducks");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3 of shelduck think 3");
    await shows(page, 3, "shelduck");
    await share(page, "Shared shelducks");
    const dialog = page.getByRole("dialog");
    await dialog.getByText("Only you can open this session.").waitFor();
    const link = await make(page);
    assert.ok(link.startsWith(`${world.origin}/shared/`), link);
    await until(
      "it is listed",
      async () => (await dialog.getByRole("button", { name: "Revoke" }).count()) === 1,
    );
    await dialog.getByRole("button", { name: "Done" }).click();
    // Shown once: afterwards it is only known when it was made.
    await share(page, "Shared shelducks");
    await dialog.getByText(/^Created /).waitFor();
    assert.equal(await dialog.getByLabel("Share link").count(), 0);
    assert.ok(!(await dialog.textContent()).includes(link.split("/").at(-1)));
    await dialog.getByRole("button", { name: "Done" }).click();

    const { page: other, asked } = await stranger(world);
    await other.goto(link);
    await other.getByRole("heading", { name: "Shared shelducks", level: 1 }).waitFor();
    await until("it is read to the end", async () => (await other.getByText("shelduck.3").count()) > 0);
    assert.deepEqual(await messages(other), ["say 3 of shelduck think 3"]);
    assert.equal(await other.locator("meta[name=robots]").getAttribute("content"), "noindex, nofollow");
    assert.equal(await other.locator(".acts, textarea, nav").count(), 0, "nothing can be done with it");
    assert.ok(!asked.some((path) => /\/(live|me)$/.test(path)), `nothing else is asked for: ${asked}`);

    // What is said later is seen by itself.
    await say(page, "say 2 of mallard");
    await shows(page, 2, "mallard");
    await until("it comes by itself", async () => (await other.getByText("mallard.2").count()) > 0, 25_000);

    await share(page, "Shared shelducks");
    await dialog.getByRole("button", { name: "Revoke" }).click();
    await dialog.getByText("Only you can open this session.").waitFor();
    await dialog.getByRole("button", { name: "Done" }).click();
    await other.getByText("This link no longer works.").waitFor({ timeout: 25_000 });
    assert.equal(await other.locator("article").count(), 0);
    await other.reload();
    await other.getByText("This link no longer works.").waitFor();
  },

  /** More turns than a page holds: the earlier ones come when they are asked for, and nothing that is read moves. */
  async shared_at_length(world) {
    const session = await world.session("Shared at length");
    for (let count = 1; count <= 80; count += 1) {
      await world.ask("POST", `/sessions/${session}/messages`, { text: `say 2 of goose${count}` });
      if (count % 40 === 0)
        await until(
          "they are answered",
          async () => {
            const { queue, run } = await world.ask("GET", `/sessions/${session}`);
            return queue.length === 0 && run == null;
          },
          60_000,
        );
    }
    const { secret } = await world.ask("POST", `/sessions/${session}/shares`);
    const { page } = await stranger(world);
    await page.goto(`${world.origin}/shared/${secret}`);
    const turns = page.locator("article[data-turn]");
    await turns.first().waitFor();
    const few = await turns.count();
    assert.ok(few >= 50 && few < 80, `${few} came at first`);
    const first = page.locator("article[data-turn]", { hasText: `say 2 of goose${80 - few + 1}` });
    await page.getByRole("button", { name: "Show earlier messages" }).scrollIntoViewIfNeeded();
    const before = await first.evaluate((node) => node.getBoundingClientRect().top);
    await page.getByRole("button", { name: "Show earlier messages" }).click();
    await until("all are there", async () => (await turns.count()) === 80);
    const moved = (await first.evaluate((node) => node.getBoundingClientRect().top)) - before;
    // The button stood above, and is no more.
    assert.ok(Math.abs(moved) <= 80, `moved by ${moved}`);
    assert.equal(await page.getByRole("button", { name: "Show earlier messages" }).count(), 0);
    assert.equal((await messages(page))[0], "say 2 of goose1");
  },

  async shared_nowhere(world) {
    const { page } = await stranger(world);
    await page.goto(`${world.origin}/shared/evs_nothing`);
    await page.getByText("This link no longer works.").waitFor();
  },
};
