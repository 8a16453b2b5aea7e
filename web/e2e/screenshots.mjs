// `just screenshots`: the scenes that exist, from the real product, light, dark and on a phone, into `web/shots`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { World, field, open, say, until } from "./world.mjs";

const shots = join(import.meta.dirname, "../shots");
mkdirSync(shots, { recursive: true });
const world = await World.make();
const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", width: 390, height: 844 }],
];
try {
  const stopped = await world.session("Herons in the reeds");
  const live = await world.session("Counting terns");
  for (const [look, options] of LOOKS) {
    const page = await world.page(options);
    const shoot = (scene) => page.screenshot({ path: join(shots, `${look}-${scene}.png`) });
    await shoot("list");
    await open(page, world, stopped);
    await say(page, "say 400 of heron pace 10 think 30 call");
    await until(
      "it writes",
      async () => (await page.locator(".parts .prose").last().textContent()).length > 100,
    );
    await field(page).fill("And then tell me about egrets");
    await shoot("writing");
    await say(page, "Where do they nest?");
    await until("one waits", async () => (await page.locator(".q").count()) === 1);
    await page.locator(".q").getByRole("button", { name: "Remove" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-marker=stopped]").last().waitFor();
    await shoot("stopped");
    await open(page, world, live);
    await say(page, "say 300 of tern pace 20");
    await until("it writes", () => page.locator(".parts .prose").last().isVisible());
    await world.kill();
    await page.locator(".strip").waitFor({ timeout: 10_000 });
    await shoot("away");
    await say(page, "say 3 of later");
    await shoot("waiting");
    await world.serve();
    await page.locator(".strip.ok").waitFor({ timeout: 20_000 });
    await shoot("back");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.context().close();
  }
} finally {
  await world.end();
}
console.log(`screenshots are in ${shots}`);
