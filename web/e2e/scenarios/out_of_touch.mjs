// The server is unreachable: the page says what it knows, and nothing stale is left when the server is back.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { shows, stopButton } from "./look.mjs";

const strip = (page, text) => page.locator(".strip", { hasText: text });
const UP_TO = /^Can't reach the server\. Everything up to (.+) is here; the rest appears when it's back\./;

export const outOfTouch = {
  async unreachable_claims_nothing(world) {
    const session = await world.session("unheard");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 9000 of bittern pace 15");
    await shows(page, 20, "bittern");
    const row = page.locator(`[data-session="${session}"] .m`);
    await until("the row says so", async () => (await row.textContent()) === "Writing");
    await world.kill();
    const told = strip(page, "Can't reach the server.");
    await told.waitFor();
    const [, time] = UP_TO.exec(await told.locator(".grow").textContent()) ?? [];
    assert.ok(time !== undefined, "until when everything is here");
    const seen = `Last seen writing ${time}`;
    const header = page.locator("article[data-turn]").last().locator(".e").last().locator(".who");
    await header.getByText(seen, { exact: true }).waitFor();
    assert.equal(await header.locator(".num").count(), 0, "no clock counts what nobody sees");
    assert.equal(await row.textContent(), seen);
    const live = page.getByRole("button", { name: /^Live/ });
    assert.equal((await live.textContent()).trim(), "Live", "nobody knows how many are live");
    await until("the tab claims nothing", async () => !(await page.title()).includes("Writing"));
    const all = await page.locator("body").textContent();
    assert.ok(!/keeps working|Writing on the server/.test(all), "nothing is claimed of the agent");
    await world.serve();
    await shows(page, 100, "bittern", 30_000);
    await until("it is seen again", async () => (await row.textContent()) === "Writing");
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
  },

  async notice_is_gone_when_back(world) {
    const session = await world.session("noticed");
    const page = await world.page();
    await open(page, world, session);
    await page.getByText("Nothing you write here gets lost.").waitFor();
    await world.kill();
    await strip(page, "Can't reach the server.").waitFor();
    await page.locator(`[data-session="${session}"] a`).press("p");
    const failed = strip(page, "Couldn't pin the session: the server is unreachable.");
    await failed.waitFor();
    await world.serve();
    const back = page.locator(".strip.ok", {
      hasText: /^Back\. Caught up on \d+ seconds?, nothing missed\.$/,
    });
    await back.waitFor({ timeout: 30_000 });
    assert.equal(await page.locator(".strip").count(), 1, "Back stands alone");
    await back.waitFor({ state: "detached" });
    assert.equal(await failed.count(), 0);
    assert.equal((await world.ask("GET", `/sessions/${session}`)).pinned, false);
  },
};
