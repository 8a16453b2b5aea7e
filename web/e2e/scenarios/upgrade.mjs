// The server is replaced by one with another build of the pages while a tab is open.

import assert from "node:assert/strict";

import { field, until } from "../world.mjs";
import { Upgrade } from "../world/next_build.mjs";
import { kept } from "./installed.mjs";
import { nav } from "./list.mjs";
import { DRAFT, late, parts, TITLE } from "./parts.mjs";

const buildOf = (page) => page.locator("meta[name=build]").getAttribute("content");
const ready = (page) => page.locator(".strip", { hasText: "An update is available." });

/** A page of this build with a draft, behind a server that can be upgraded. */
async function begun(world, act, options) {
  const upgrade = await new Upgrade(world.port).listen();
  try {
    const session = await world.session(TITLE);
    const page = await world.visit({ origin: upgrade.origin, ...options });
    await world.signIn(page);
    await nav(page).waitFor();
    await page.goto(`${upgrade.origin}/s/${session}`);
    await field(page).fill(DRAFT);
    await page.getByText("Draft saved").waitFor();
    await act({ page, session, upgrade });
  } finally {
    await Promise.all(world.pages.map((page) => page.context().close()));
    world.pages = [];
    upgrade.close();
  }
}

async function replaced(world, upgrade) {
  await upgrade.swap();
  await world.kill();
  await world.serve();
}

async function reloaded(page, before) {
  await page.locator(".strip").getByRole("button", { name: "Reload" }).click();
  await until("the next build is shown", async () => (await buildOf(page)) !== before);
  await until("the draft is there", async () => (await field(page).inputValue()) === DRAFT);
  assert.equal(await page.evaluate(() => globalThis.nextBuild), true);
  assert.equal(await ready(page).count(), 0);
}

export const upgrades = {
  async parts_of_an_older_build_open_after_an_upgrade(world) {
    await begun(world, async ({ page, session, upgrade }) => {
      await kept(page);
      const before = await buildOf(page);
      await replaced(world, upgrade);
      await ready(page).waitFor({ timeout: 30_000 });
      // The next build's service worker takes over under the open tab.
      await page.evaluate(async () => (await navigator.serviceWorker.ready).update());
      await until("both builds are cached", () =>
        page.evaluate(async () => {
          const worker = (await navigator.serviceWorker.getRegistration())?.active;
          return worker?.state === "activated" && (await caches.keys()).length === 2;
        }),
      );
      for (const [name, part] of parts()) {
        await part.open(page, session);
        await until(`${name} opens`, () => part.shown(page).first().isVisible());
        await part.leave?.(page, session);
        assert.equal(await field(page).inputValue(), DRAFT);
      }
      await reloaded(page, before);
      for (const [name, part] of parts()) {
        await part.open(page, session);
        await until(`${name} of the next build opens`, () => part.shown(page).first().isVisible());
        await part.leave?.(page, session);
      }
      // The last tab of the older build is gone.
      const next = await page.context().newPage();
      await page.close();
      await next.goto(upgrade.origin);
      await nav(next).waitFor();
      await next.close();
      const last = await page.context().newPage();
      await last.goto(upgrade.origin);
      await until("the older build is deleted", () =>
        last.evaluate(async () => (await caches.keys()).length === 1),
      );
    });
  },

  async parts_that_are_gone_after_an_upgrade_ask_for_a_reload(world) {
    await begun(
      world,
      async ({ page, session, upgrade }) => {
        const before = await buildOf(page);
        await replaced(world, upgrade);
        await ready(page).waitFor({ timeout: 30_000 });
        for (const [name, part] of parts()) {
          await part.open(page, session);
          await until(
            `${name} asks for a reload`,
            async () => (await late(page).count()) > 0 || (await part.shown(page).first().isVisible()),
          );
          const gone = late(page).filter({ hasText: "The server was updated." });
          if ((await late(page).count()) > 0) await gone.first().waitFor();
          const close = late(page).getByRole("button", { name: "Close" });
          if ((await close.count()) > 0) {
            await close.click();
            await part.closed?.(page);
          } else await part.leave?.(page, session);
          assert.equal(await field(page).inputValue(), DRAFT);
        }
        await reloaded(page, before);
      },
      { serviceWorkers: "block" },
    );
  },
};
