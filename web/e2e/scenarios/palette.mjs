// Everything by a few letters, and what the keyboard can do, told by what it does.

import assert from "node:assert/strict";

import { field, open, say, until } from "../world.mjs";
import { choose, palette, shows } from "./look.mjs";

const sheet = (page) => page.getByRole("dialog", { name: "Keyboard shortcuts" });

export const palettes = {
  async palette(world) {
    const other = await world.session("a bittern booms");
    const session = await world.session("palette");
    const page = await world.page();
    await open(page, world, session);
    await choose(page, "pin", "Pin");
    await until("it is pinned", async () => (await world.ask("GET", `/sessions/${session}`)).pinned);
    await choose(page, "rename", "Rename");
    await page.getByRole("textbox", { name: "Session name" }).waitFor();
    await page.keyboard.press("Escape");
    await say(page, "say 9000 of siskin pace 10");
    await shows(page, 5, "siskin");
    await choose(page, "stop", "Stop");
    await page.locator("[data-marker=stopped]").waitFor();
    await choose(page, "bittern", "a bittern booms");
    await until("the other is shown", () => page.url().includes(other));
    // What was said is found where no title has the words.
    await choose(page, "siskin.2", "palette");
    await until("it is back", () => page.url().includes(session));
    await page.keyboard.press("Control+k");
    const input = palette(page).getByRole("combobox");
    await input.fill("nothing like this");
    await palette(page).getByText("No results").waitFor();
    await page.keyboard.press("Escape");
    await palette(page).waitFor({ state: "detached" });
    await choose(page, "new ses", "New session");
    await until("another is made", () => !page.url().includes(session) && page.url().includes("/s/"));
  },

  /** Whoever has no keyboard opens it by a button, and what it asks is asked where the list is not shown. */
  async palette_on_a_phone(world) {
    const session = await world.session("a pocket of reeds");
    const page = await world.page({ width: 390, height: 844, hasTouch: true });
    await open(page, world, session);
    const menu = page.getByRole("button", { name: "Commands" });
    await menu.tap();
    await palette(page).getByRole("button", { name: "Close" }).tap();
    await palette(page).waitFor({ state: "detached" });
    const pick = async (name) => {
      await menu.tap();
      await palette(page).getByRole("option", { name, exact: true }).tap();
      await page.locator(".ask").waitFor();
    };
    await pick("Tags");
    await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).tap();
    await pick("Share");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create link" }).tap();
    await until("there is a link", async () =>
      (await dialog.getByRole("textbox").inputValue()).includes("/shared/"),
    );
    const { shares } = await world.ask("GET", `/sessions/${session}/shares`);
    assert.equal(shares.length, 1);
  },

  async shortcuts(world) {
    const session = await world.session("shortcuts");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3 of twite");
    await shows(page, 3, "twite");
    await field(page).focus();
    await page.keyboard.insertText("really");
    await page.keyboard.press("?");
    assert.equal(await field(page).inputValue(), "really?", "in a field it is a letter");
    const area = page.getByRole("region", { name: "Conversation" });
    await area.focus();
    await page.keyboard.press("?");
    await sheet(page).waitFor();
    const told = await sheet(page).locator("dl > div").allTextContents();
    for (const line of ["CommandsCtrl K", "Next turnJ", "SendEnter", "Find in this sessionCtrl F"])
      assert.ok(told.includes(line), `${line} is told`);
    await sheet(page).getByRole("checkbox").uncheck();
    await page.keyboard.press("Escape");
    await sheet(page).waitFor({ state: "detached" });
    await area.focus();
    await page.keyboard.press("k");
    await page.keyboard.press("?");
    assert.equal(await page.locator("article:focus").count(), 0, "letters are turned off");
    assert.equal(await sheet(page).count(), 0, "signs are turned off");
    await page.keyboard.press("Control+k");
    await palette(page).waitFor();
  },
};
