// What is around the conversation: the list and its questions, the palette, what was found, links for others, the timeline,
// every page of the settings, the server, and a chat.

import { open, until } from "../world.mjs";
import { Hook } from "../world/hook.mjs";
import { CHAT, sessions as said } from "./texts.mjs";

const SETTINGS = [
  "appearance",
  "conversation",
  "models",
  "projects",
  "access",
  "people",
  "messaging",
  "data",
];

/** Sessions, projects, tags and people as somebody has them after some weeks; and a program that is let in. */
export async function settle(world) {
  const { project } = await world.ask("POST", "/projects", { name: "House" });
  await world.ask("POST", "/projects", { name: "Everturn" });
  const sessions = [];
  for (const { title, question } of said) {
    const session = await world.session(title);
    await world.ask("POST", `/sessions/${session}/messages`, { text: question });
    sessions.push(session);
  }
  const change = (session, change) => world.ask("PATCH", `/sessions/${session}`, change);
  await change(sessions[2], { pinned: true });
  await change(sessions[2], { tags: ["work", "database"] });
  for (const session of sessions.slice(3, 5)) {
    await change(session, { project });
    await change(session, { tags: ["home"] });
  }
  await world.ask("POST", "/users", { name: "ann", role: "member" });
  await world.ask("POST", "/tokens", { name: "laptop", scope: "write" });
  const hook = await Hook.start();
  await hook.introduce(world);
  const wren = { id: "7", name: "Wren" };
  await hook.post(world.origin, { event: "1", sender: wren, text: "hello" });
  const robin = { id: "robin", name: "Robin" };
  await hook.post(world.origin, { event: "2", sender: robin, text: CHAT[0] });
  await until("it is answered", () => hook.texts.includes(CHAT[1]));
  const { hits } = await until("it can be found", async () => {
    const found = await world.ask("GET", "/search?words=green");
    return found.hits.length > 0 && found;
  });
  const [{ session: chat }] = hits;
  await change(chat, { title: "The build" });
  return { hook, sessions, chat };
}

export async function around(world, page, shoot, { sessions: [hanging], chat }, phone) {
  const row = page.locator(`nav [data-session="${hanging}"]`);
  const leave = () => page.keyboard.press("Escape");
  await page.goto(world.origin);
  await page.getByRole("link", { name: "Names for a heron" }).first().waitFor();
  await shoot("sessions");
  await row.getByRole("link").click({ button: "right" });
  await page.locator(".menu").waitFor();
  await shoot("session-menu");
  await leave();
  await page.getByRole("searchbox").fill("landlord");
  await page.locator(".filters summary").click();
  await page.locator(".found").first().waitFor();
  await shoot("search-filters");
  await page.getByRole("searchbox").fill("");
  await open(page, world, hanging);
  await page.getByRole("button", { name: "Commands" }).click();
  await page.locator(".pal .o").first().waitFor();
  await shoot("palette");
  await page.getByRole("combobox", { name: "Command or session" }).fill("share");
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Create link" }).click();
  const link = await dialog.getByRole("textbox").inputValue();
  await shoot("share");
  await leave();
  await page.goto(`${world.origin}/s/${hanging}/timeline`);
  await page.locator(".log p").first().waitFor();
  await shoot("timeline");
  for (const name of SETTINGS) {
    await page.goto(`${world.origin}/settings/${name}`);
    await page.locator(".subject h2").waitFor();
    await until("it is read", async () => (await page.getByText("Loading…").count()) === 0);
    await shoot(`settings-${name}`);
  }
  await page.goto(`${world.origin}/server`);
  await page.getByRole("img").first().waitFor();
  await shoot("server");
  await open(page, world, chat);
  await page.getByText("Delivered to ops.").waitFor();
  await shoot("chat");
  if (!phone) {
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await shoot("shortcuts");
    await leave();
  }
  await page.goto(`${world.origin}/trash`);
  await shoot("trash");
  const reader = await page.context().browser().newContext({ viewport: page.viewportSize() });
  const other = await reader.newPage();
  await other.goto(link);
  await other.getByText("Shared session, read-only").waitFor();
  await other.screenshot({ path: shoot.path("shared") });
  await reader.close();
}
