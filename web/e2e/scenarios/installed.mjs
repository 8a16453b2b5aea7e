// The page is kept by the browser: it opens without the server, with what this device has, and offers the next one.

import assert from "node:assert/strict";

import { field, open, reloads, say, until } from "../world.mjs";
import { choose, shows } from "./look.mjs";

const offline = (page) => page.locator(".strip b", { hasText: "Can't reach the server." });

/** Waits until the browser keeps the page. */
export const kept = (page) =>
  until("the page is kept", () =>
    page.evaluate(async () => {
      await navigator.serviceWorker.ready;
      return (await caches.match("/")) !== undefined && navigator.serviceWorker.controller !== null;
    }),
  );

export const installed = {
  async installable(world) {
    const head = async (path) => {
      const { status, headers } = await fetch(world.origin + path);
      assert.equal(status, 200, path);
      return headers;
    };
    assert.equal((await head("/worker.js")).get("cache-control"), "no-cache");
    assert.equal((await head("/manifest.webmanifest")).get("content-type"), "application/manifest+json");
    const { icons } = await (await fetch(`${world.origin}/manifest.webmanifest`)).json();
    for (const { src, type } of icons) assert.equal((await head(src)).get("content-type"), type);
    const page = await world.page();
    const session = await page.context().newCDPSession(page);
    const { errors } = await session.send("Page.getAppManifest");
    assert.deepEqual(errors, []);
  },

  async opens_without_server(world) {
    const session = await world.session("kept");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3 of eider");
    await shows(page, 3, "eider");
    await kept(page);
    await world.kill();
    await page.goto(`${world.origin}/s/${session}`);
    await offline(page).waitFor();
    assert.equal(await page.getByRole("button", { name: "Sign in", exact: true }).count(), 0);
    await say(page, "say 3 of scoter");
    await page.getByText("will be sent when the server is back.").waitFor();
    await page.reload();
    await page.locator(".said.wait", { hasText: "scoter" }).waitFor();
    const places = await page.evaluate(async () => {
      const cache = await caches.open((await caches.keys())[0]);
      return (await cache.keys()).map(({ url }) => new URL(url).pathname);
    });
    assert.deepEqual(
      places.filter((place) => place.startsWith("/api")),
      [],
    );
    await world.serve();
    await shows(page, 3, "scoter", 30_000);
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    assert.equal(turns.filter(({ message }) => message.text === "say 3 of scoter").length, 1);
  },

  async signed_out_without_server(world) {
    const page = await world.page();
    await kept(page);
    await reloads(page, () => choose(page, "sign out", "Sign out"));
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
    await world.kill();
    await page.reload();
    await page.locator(".loading").waitFor();
    assert.equal(await page.getByRole("navigation").count(), 0, "nothing of who was here is shown");
    await world.serve();
    await page.getByRole("button", { name: "Sign in", exact: true }).waitFor();
  },

  async newer_page(world) {
    const session = await world.session("newer");
    const page = await world.page();
    await open(page, world, session);
    const ready = page.locator(".strip", { hasText: "An update is available." });
    assert.equal(await ready.count(), 0);
    await page.evaluate(() => (document.querySelector("meta[name=build]").content = "an older one"));
    await field(page).fill("a draft about gannets");
    await world.kill();
    await world.serve();
    await ready.waitFor({ timeout: 30_000 });
    await page.getByRole("button", { name: "Reload" }).click();
    await until(
      "the draft is there",
      async () => (await field(page).inputValue()) === "a draft about gannets",
    );
    assert.equal(await ready.count(), 0);
  },
};
