// How the server is, for owners.

import assert from "node:assert/strict";

import { until } from "../world.mjs";

export const serverPage = {
  async server_tells_how_it_is(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/server`);
    await page.getByText("Everything is being saved.").waitFor();
    const plots = page.getByRole("img");
    await until("there are three plots", async () => (await plots.count()) === 3);
    const session = await world.session("Counted");
    await world.ask("POST", `/sessions/${session}/messages`, { text: "say 100000 of knot pace 10" });
    const runs = page.locator("figure", { hasText: "Answers in progress" });
    // The page asks every five seconds, and the server measures every five.
    await until("the run is seen", () => runs.getByText(/Now 1,/).isVisible(), 30_000);
    await runs.getByText("Show values").click();
    assert.ok((await runs.locator("tbody tr").count()) > 0);
    const { run } = await world.ask("GET", `/sessions/${session}`);
    await world.ask("POST", `/sessions/${session}/stop`, { run });
    await until("its end is seen", () => runs.getByText(/Now 0,/).isVisible(), 30_000);
    await page.getByRole("link", { name: "Data", exact: true }).click();
    await page.getByRole("heading", { name: "Storage" }).waitFor();
  },

  async server_is_not_for_members(world) {
    const member = { name: "dunnock", password: "a dunnock in the hedge" };
    await world.ask("POST", "/users", { ...member, role: "member" });
    const page = await world.page({ who: member });
    await page.goto(`${world.origin}/server`);
    await page.getByText("Only owners can view the server status.").waitFor();
    assert.equal(await page.getByRole("img").count(), 0);
  },
};
