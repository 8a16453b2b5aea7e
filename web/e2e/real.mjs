// One conversation with a real model, in pictures: answered, stopped, continued, and healed after the server was killed.
// `just screenshots --real`.

import { spawn } from "node:child_process";
import net from "node:net";
import { join } from "node:path";

import { World, answerOf, field, freePort, open, say, until, words } from "./world.mjs";

/** The first start fetches about 125 MB. */
const START_MAX = 600_000;

function listens(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
  });
}

export async function realModel(shots) {
  const port = await freePort();
  const script = join(import.meta.dirname, "../../scripts/small-model");
  const model = spawn(script, [String(port)], { stdio: "ignore" });
  let world;
  try {
    await until("the model listens", () => listens(port), START_MAX);
    world = await World.make({ model: "real", real: port });
    const page = await world.page({ height: 900 });
    const shoot = (scene) => page.screenshot({ path: join(shots, `real-${scene}.png`) });
    const session = await world.session("Herons by the lake");
    const longer = async (than) =>
      until("it writes", async () => words(await answerOf(page)).split(" ").length > than, 120_000);
    await open(page, world, session);
    await say(page, "Tell me a long story about a heron who lives by a lake.");
    await longer(12);
    await shoot("1-writing");
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator("[data-marker=stopped]").waitFor();
    await shoot("2-stopped");
    const stopped = words(await answerOf(page)).split(" ").length;
    await page.getByRole("button", { name: "Continue" }).click();
    await longer(stopped + 8);
    await shoot("3-continued");
    const before = words(await answerOf(page));
    await world.kill();
    await page.locator(".strip").waitFor({ timeout: 20_000 });
    await shoot("4-killed");
    await world.serve();
    // A small model may have little left to say; it goes on by itself, and ends.
    const over = async () => (await field(page).getAttribute("placeholder")) === "Write a message";
    await until(
      "it went on",
      async () => (await page.locator("[data-marker=interrupted]").count()) > 0 || over(),
      60_000,
    );
    await shoot("5-healed");
    const after = words(await answerOf(page));
    if (!after.startsWith(before.split(" ").slice(0, -1).join(" "))) throw new Error("what was seen is gone");
    await until("it is over", over, 240_000);
    await shoot("6-whole");
    const wrong = await world.verdict();
    if (wrong.length > 0) throw new Error(wrong.join("\n"));
  } finally {
    await world?.end();
    model.kill("SIGTERM");
  }
}
