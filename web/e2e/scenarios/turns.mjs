// Turns are said differently, tried again, taken back and put back; every version can be reached, also after a reload.

import assert from "node:assert/strict";

import { answerOf, field, open, say, until } from "../world.mjs";
import { messages, same, shows } from "./look.mjs";

const newest = (page) => page.locator("article[data-turn]").last();

async function act(page, name) {
  await newest(page).hover();
  await newest(page).getByRole("button", { name, exact: true }).click();
}

export const turns = {
  async conversation(world) {
    const page = await world.page();
    await page.getByRole("button", { name: "New session" }).click();
    await field(page).waitFor();
    await say(page, "say 30 of wren pace 5 think 5");
    await shows(page, 30, "wren");
    const session = page.url().split("/").at(-1);
    await same(page, world, session);
    assert.equal(await field(page).inputValue(), "");
  },

  async versions(world) {
    const session = await world.session("versions");
    const page = await world.page();
    await open(page, world, session);
    const sees = (...texts) =>
      until(`${texts} are seen`, async () => JSON.stringify(await messages(page)) === JSON.stringify(texts));
    await say(page, "say 3 of one");
    await shows(page, 3, "one");
    await say(page, "say 3 of two");
    await shows(page, 3, "two");

    // Another answer; the first one stays.
    await act(page, "Retry");
    await until("there are two", () => newest(page).getByText("2 of 2").isVisible());
    await page.reload();
    await until("there are two", () => newest(page).getByText("2 of 2").isVisible());
    await act(page, "Previous answer");
    await until("the first is shown", () => newest(page).getByText("1 of 2").isVisible());
    await page.reload();
    await until("the first is shown", () => newest(page).getByText("1 of 2").isVisible());

    // Undo and redo.
    await act(page, "Undo turn");
    await sees("say 3 of one");
    await page.reload();
    await page.getByText("Turn undone.").waitFor();
    await page.getByRole("button", { name: "History" }).click();
    await page.getByRole("dialog").getByText("say 3 of two").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Redo" }).click();
    await sees("say 3 of one", "say 3 of two");

    // An edit creates a branch; the original stays.
    await act(page, "Edit message");
    await page.getByLabel("Edit message").last().fill("say 3 of three");
    page.typed.add("say 3 of three");
    await page.getByRole("button", { name: "Send in a new branch" }).click();
    await until("the branch is shown", () => !page.url().includes(session));
    await shows(page, 3, "three");
    await sees("say 3 of one", "say 3 of three");
    await page.reload();
    await page.getByRole("link", { name: /Branch of/ }).click();
    await until("the original is shown", () => page.url().includes(session));
    await sees("say 3 of one", "say 3 of two");
    assert.ok((await answerOf(page)).includes("two.3"));
  },

  async reload_mid_token(world, { full }) {
    const session = await world.session("reload");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 400 of gull pace 10");
    for (let round = 0; round < (full ? 20 : 4); round += 1) {
      await shows(page, 5 + round * 10, "gull");
      if (round % 3 === 0) await page.reload();
      if (round % 3 === 1) {
        await page.goto("about:blank");
        await page.goBack();
      }
      if (round % 3 === 2) await page.goto(`${world.origin}/s/${session}`);
    }
    await shows(page, 400, "gull");
    await same(page, world, session);
  },

  async m9_left_behind(world) {
    const session = await world.session("left");
    const page = await world.page();
    await open(page, world, session);
    await page.getByRole("button", { name: "New session" }).click();
    await until(
      "another session is shown",
      () => !page.url().includes(session) && page.url().includes("/s/"),
    );
    const made = page.url().split("/").at(-1);
    await say(page, "say 2 of wigeon");
    await shows(page, 2, "wigeon");
    const response = await fetch(`http://127.0.0.1:${world.port}/api/v1/sessions/${made}/events?after=0`, {
      headers: { authorization: `Bearer ${world.token}` },
    });
    const reader = response.body.getReader();
    const { value } = await reader.read();
    await reader.cancel();
    assert.ok(
      new TextDecoder().decode(value).includes(`"after":"${session}"`),
      "the server knows what was left",
    );
  },

  /** A message can name who answers it. */
  async model_choice(world) {
    const session = await world.session("models");
    const page = await world.page();
    await open(page, world, session);
    await page.getByRole("combobox", { name: "Model" }).selectOption("reciting");
    await say(page, "recite\nto the letter");
    await until("the other one answers", async () => (await answerOf(page)).includes("to the letter"));
    await page.reload();
    await until(
      "the choice is remembered",
      async () => (await page.getByRole("combobox", { name: "Model" }).inputValue()) === "reciting",
    );
  },

  async search(world) {
    const session = await world.session("Rare birds");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 2 of bittern");
    await shows(page, 2, "bittern");
    await page.keyboard.press("Control+Shift+f");
    await page.keyboard.type("bittern");
    await until("it is found", () => page.locator(".side mark", { hasText: "bittern" }).first().isVisible());
    await page.getByRole("searchbox").fill("nothingofthekind");
    await page.getByText("No results for").waitFor();
  },

  /** More turns than a page loads by itself: earlier ones come when asked, and a turn that is found is brought into sight. */
  async find_in_session(world) {
    const session = await world.session("long");
    for (let count = 0; count < 240; count += 1) {
      const text = count === 7 ? "say 2 of kingfisher" : `say 2 of finch${count}`;
      await world.ask("POST", `/sessions/${session}/messages`, { text });
      // As many as may wait, then what waits is answered first.
      if (count % 50 === 49)
        await until(
          "they are answered",
          async () => (await world.ask("GET", `/sessions/${session}`)).queue.length === 0,
        );
    }
    await until(
      "all are answered",
      async () =>
        (await world.ask("GET", `/sessions/${session}`)).turns.at(-1)?.message.text === "say 2 of finch239",
      30_000,
    );
    const page = await world.page();
    await open(page, world, session);
    await shows(page, 2, "finch239");
    await page.keyboard.press("Control+f");
    await page.keyboard.type("kingfisher");
    await page.getByText("No results").waitFor();
    await page.getByRole("button", { name: /Search \d+ earlier turns/ }).click();
    await page.getByText("1 of 1").waitFor();
    await page.keyboard.press("Enter");
    const hit = page.locator("article[data-turn]", { hasText: "kingfisher.2" });
    await until("it is in sight", () => hit.isVisible());
    const place = () => hit.evaluate((node) => node.getBoundingClientRect().top);
    const before = await place();
    // What streams at the end does not move who reads the middle.
    await world.ask("POST", `/sessions/${session}/messages`, { text: "say 60 of below pace 10" });
    await page.getByRole("button", { name: "New text" }).waitFor({ timeout: 15_000 });
    assert.ok(Math.abs((await place()) - before) <= 1, "0 px jump");
  },

  /** What is drawn from an answer comes through the same gate as everything else, and changes no word of it. */
  async drawn(world) {
    const session = await world.session("drawn");
    // A formula that is drawn has other letters than its source.
    const page = await world.page({ watched: false });
    await open(page, world, session);
    await page.getByRole("combobox", { name: "Model" }).selectOption("reciting");
    const fence = "```";
    const answer = [`${fence}rust`, "fn heron() {}", fence, "", "$$e = mc^2$$", "", `${fence}mermaid`]
      .concat(["graph TD; Heron-->Lake", fence, "", "the end"])
      .join("\n");
    await say(page, `recite\n${answer}`);
    await until("it is there", async () => (await answerOf(page)).includes("the end"));
    await page.locator(".code .k", { hasText: "fn" }).waitFor();
    await page.locator(".katex").first().waitFor();
    await page.getByRole("button", { name: "Render diagram" }).click();
    await page.getByRole("button", { name: "Show source" }).waitFor({ timeout: 30_000 });
    const frame = page.frameLocator("iframe.diagram");
    await frame.locator("svg").getByText("Heron").waitFor();
    assert.equal(await page.evaluate(() => document.querySelector("iframe.diagram").contentDocument), null);
  },

  /** What was not done is said where it can be seen. */
  async refusal_is_told(world) {
    const session = await world.session("refused");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3000 of stork pace 10");
    await shows(page, 3, "stork");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-marker=stopped]").waitFor();
    world.network.set("reset");
    await act(page, "Branch from here");
    const failed = page.locator(".strip", { hasText: "Couldn't create the branch" });
    await failed.waitFor();
    world.network.set("pass");
    await failed.waitFor({ state: "detached" });
  },
};
