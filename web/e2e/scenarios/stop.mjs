// Stop keeps everything, whatever was going on and whoever asked.

import assert from "node:assert/strict";

import { answerOf, open, say, until } from "../world.mjs";
import { markers, same, shows, stopButton } from "./look.mjs";

/** What the server's fold holds of the newest turn's reasoning. */
async function thoughts(world, session) {
  const { turns } = await world.ask("GET", `/sessions/${session}`);
  const parts = turns.at(-1)?.answer?.parts ?? [];
  return parts.flatMap(({ reasoning }) => reasoning ?? []).join("");
}

function thoughtsSeen(page) {
  return page.evaluate(() => {
    const turn = [...document.querySelectorAll("article[data-turn]")].at(-1);
    return [...(turn?.querySelectorAll(".trace .words") ?? [])].map((node) => node.textContent).join("");
  });
}

export const stop = {
  async stop_keeps_all(world) {
    const session = await world.session("stop");
    const [page, other] = [await world.page(), await world.page({ width: 390, height: 844 })];
    await open(page, world, session);
    await open(other, world, session);
    await say(page, "say 400 of ibis pace 10 think 20 call");
    await shows(page, 20, "ibis");
    await stopButton(other).click();
    for (const seen of [page, other]) await seen.locator("[data-marker=stopped]").waitFor();
    await same(page, world, session);
    await same(other, world, session);
    assert.deepEqual(await markers(page), ["stopped"]);
    await page.getByRole("button", { name: "Continue" }).click();
    await shows(page, 400, "ibis");
  },

  async stop_while_it_thinks(world) {
    const session = await world.session("thinking");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 5 of egret pace 10 think 800");
    await until("it thinks", async () => (await thoughtsSeen(page)).includes("thought.20"));
    const seen = await thoughtsSeen(page);
    // Twice: the second finds nothing to stop.
    await stopButton(page).dblclick();
    await page.locator("[data-marker=stopped]").waitFor();
    assert.deepEqual(await markers(page), ["stopped"]);
    const kept = await thoughts(world, session);
    assert.ok(kept.startsWith(seen), "everything that was seen is kept");
    assert.equal(await thoughtsSeen(page), kept);
  },

  /** The request is swallowed by the network; it is asked again, and stops this run and no later one. */
  async stop_lost_on_the_wire(world) {
    const session = await world.session("lost stop");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3000 of snipe pace 15");
    await shows(page, 10, "snipe");
    world.network.set("hole");
    await stopButton(page).click();
    await page.getByRole("button", { name: "Stopping…" }).waitFor();
    world.network.set("pass");
    await page.locator("[data-marker=stopped]").waitFor({ timeout: 40_000 });
    await same(page, world, session);
    assert.deepEqual(await markers(page), ["stopped"]);
    await say(page, "say 3 of after");
    await shows(page, 3, "after");
    assert.ok((await answerOf(page)).includes("after.3"));
  },
};
