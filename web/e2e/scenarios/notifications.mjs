// Who looks elsewhere is told, once, and only if they want to be.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { shows } from "./look.mjs";

/** The browser's own way to tell, written down instead of shown, and a page that can be looked away from. */
function watched() {
  window.told = [];
  const kept = { permission: localStorage.getItem("allowed") === "yes" ? "granted" : "default" };
  window.Notification = class {
    static get permission() {
      return kept.permission;
    }
    static async requestPermission() {
      localStorage.setItem("allowed", "yes");
      return (kept.permission = "granted");
    }
    constructor(title, { body, tag }) {
      this.what = { title, body, tag };
      window.told.push(this);
    }
    close() {}
  };
  let state = "visible";
  Object.defineProperty(document, "visibilityState", { get: () => state });
  window.look = (at) => {
    state = at ? "visible" : "hidden";
    document.dispatchEvent(new Event("visibilitychange"));
  };
}

const prepare = (context) => context.addInitScript(watched);
const told = (page) => page.evaluate(() => window.told.map(({ what }) => what));
const offer = (page) => page.locator(".strip", { hasText: "Get notified when an answer is ready?" });
const finished = async (world, session) =>
  until("it is finished", async () => (await world.ask("GET", `/sessions/${session}`)).run === null);

export const notifications = {
  async told_of_answers(world) {
    const [first, second] = [await world.session("herring"), await world.session("smelt")];
    const page = await world.page({ prepare });
    await open(page, world, first);
    await say(page, "say 9000 of herring pace 10");
    await shows(page, 3, "herring");
    assert.equal(await offer(page).count(), 0, "nothing is asked before somebody looked away");
    await page.evaluate(() => window.look(false));
    await page.evaluate(() => window.look(true));
    await offer(page).waitFor();
    await page.getByRole("button", { name: "Notify me" }).click();
    await offer(page).waitFor({ state: "detached" });
    await page.keyboard.press("Control+.");
    await finished(world, first);
    await page.locator("[data-marker=stopped]").waitFor();
    assert.deepEqual(await told(page), [], "what is in front is not told");
    // Two tabs that look at another session: one of them tells.
    const other = await page.context().newPage();
    other.problems = page.problems;
    for (const one of [page, other]) await open(one, world, second);
    await world.ask("POST", `/sessions/${first}/messages`, { text: "say 20 of sprat pace 10" });
    const all = async () => [...(await told(page)), ...(await told(other))];
    await until("it was told", async () => (await all()).length > 0);
    assert.deepEqual(await all(), [{ title: "herring", body: "The answer is ready.", tag: first }]);
    const teller = (await told(page)).length > 0 ? page : other;
    await teller.evaluate(() => window.told[0].onclick());
    await until("it is shown", () => teller.url().includes(first));
    // Now one of them looks at it.
    await world.ask("POST", `/sessions/${first}/messages`, { text: "say 5 of dab pace 10" });
    await shows(teller, 5, "dab");
    await finished(world, first);
    await world.ask("POST", `/sessions/${second}/messages`, { text: "say 5 of brill pace 10" });
    await finished(world, second);
    assert.equal((await all()).length, 1, "both are in front of somebody");
  },

  async not_now(world) {
    const session = await world.session("later");
    const page = await world.page({ prepare });
    await open(page, world, session);
    await say(page, "say 9000 of goby pace 10");
    await shows(page, 3, "goby");
    const leave = async () => {
      await page.evaluate(() => window.look(false));
      await page.evaluate(() => window.look(true));
    };
    await leave();
    await page.getByRole("button", { name: "Not now" }).click();
    await leave();
    assert.equal(await offer(page).count(), 0, "it is not asked again");
    const mark = () => page.locator("link[rel=icon]").getAttribute("href");
    assert.equal(await page.title(), "Writing — later");
    await until("the mark has a sign", async () => (await mark()).startsWith("data:image/svg"));
    await page.keyboard.press("Control+.");
    await until("the title says that it rests", async () => (await page.title()) === "later — Everturn");
    await until("the mark rests", async () => (await mark()) === "/mark.svg");
  },
};
