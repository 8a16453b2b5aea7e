// The same sessions from a chat: who is let in, what arrived there, and where a session is bound.

import assert from "node:assert/strict";

import { open, until } from "../world.mjs";
import { hooked } from "../world/hook.mjs";

const WREN = { id: "7", name: "Wren" };
const ROBIN = { id: "robin", name: "Robin" };
const JAY = { id: "jay", name: "Jay" };

const arrives = (hook, text) =>
  until(`${text} is posted`, () => hook.texts.find((told) => told.includes(text)));

/** The session in which something was said. */
async function sessionOf(world, text) {
  return until(`${text} is in a session`, async () => {
    const { hits } = await world.ask("GET", `/search?words=${text}`);
    return hits[0]?.session;
  });
}

export const messaging = {
  async messaging_lets_in_and_shuts_out(world) {
    await hooked(world, async (hook) => {
      const said = (sender, event, text) => hook.post(world.origin, { sender, event, text });
      assert.equal(await said(WREN, "m1", "say 2 of heron"), 200);
      const [code] = await until("there is a code", () => hook.codes.length > 0 && hook.codes);
      const page = await world.page();
      await page.goto(`${world.origin}/settings/messaging`);
      const platforms = page.getByRole("list", { name: "Platforms" });
      await platforms.getByText("Connected").waitFor();
      await page.getByRole("list", { name: "Pending requests" }).getByText("Wren").waitFor();
      // By the keyboard alone, first with a code that is none.
      const field = page.getByLabel("Pairing code");
      await field.focus();
      await page.keyboard.type("AAAAAAAA");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").first().waitFor();
      await field.fill(code);
      await page.keyboard.press("Enter");
      const peers = page.getByRole("list", { name: "Approved senders" });
      await peers.getByText("Wren").waitFor();
      assert.ok(!hook.texts.some((text) => text.includes("heron")), "what a stranger says is not answered");
      await said(WREN, "m2", "say 2 of dipper");
      await arrives(hook, "dipper.2");

      await peers.getByRole("button", { name: "Remove Wren" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
      await page.getByText("No approved senders yet.").waitFor();
      await said(WREN, "m3", "say 2 of bunting");
      // What came later is answered, so that nothing of it is on its way.
      await said(JAY, "m4", "say 2 of plover");
      await arrives(hook, "plover.2");
      assert.ok(!hook.texts.some((text) => text.includes("bunting")));
    });
  },

  async messaging_tells_what_arrived(world) {
    await hooked(world, async (hook) => {
      const said = (event, text) => hook.post(world.origin, { sender: ROBIN, event, text });
      await said("a1", "say 2 of whimbrel");
      // Whoever did not hear that it was taken posts it again.
      await said("a1", "say 2 of whimbrel");
      await arrives(hook, "whimbrel.2");
      const page = await world.page();
      const session = await sessionOf(world, "whimbrel");
      await open(page, world, session);
      const turns = page.getByRole("article");
      await turns.getByText("Robin", { exact: true }).waitFor();
      await page.getByText("Chat on ops").waitFor();
      await turns.getByText("Delivered to ops.").waitFor();
      assert.equal(await turns.count(), 1);

      hook.away = true;
      await said("a2", "say 2 of godwit");
      await turns.nth(1).getByText("Sending to ops…").waitFor();
      // Once it is tried again, it is kept that it was not taken.
      await until("it is tried again", () => hook.refused >= 2);
      await world.kill();
      await world.serve();
      hook.away = false;
      await turns.nth(1).getByText("Delivered to ops.").waitFor({ timeout: 60_000 });
      assert.equal(hook.texts.filter((text) => text.includes("godwit.2")).length, 1);

      // What is said here stays here.
      await page.getByRole("textbox", { name: "Message", exact: true }).fill("say 2 of curlew");
      await page.keyboard.press("Enter");
      await turns.nth(2).getByText("curlew.2").waitFor();
      await said("a3", "say 2 of avocet");
      await arrives(hook, "avocet.2");
      assert.ok(!hook.texts.some((text) => text.includes("curlew")));

      await page.goto(`${world.origin}/s/${session}/timeline`);
      await page.getByText("The answer will be sent to the chat with Robin.").first().waitFor();
      await page.getByText("Not sent yet: the platform didn't accept the message.").first().waitFor();
    });
  },
};
