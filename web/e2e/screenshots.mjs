// `just screenshots [--real]`: every scene that exists, from the real product, light, dark and on a phone, into `web/shots`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { realModel } from "./real.mjs";
import { around, settle } from "./screenshots/around.mjs";
import { LATER, READS, WORKS, WRITES, teach } from "./screenshots/texts.mjs";
import { World, answerOf, field, open, say, until } from "./world.mjs";

const shots = join(import.meta.dirname, "../shots");
mkdirSync(shots, { recursive: true });

const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", width: 390, height: 844 }],
  ["phone-dark", { colorScheme: "dark", width: 390, height: 844 }],
];

async function scenes(world, look, options) {
  const page = await world.page(options);
  const shoot = (scene) => page.screenshot({ path: join(shots, `${look}-${scene}.png`) });
  const writes = (length) => until("it writes", async () => (await answerOf(page)).length > length, 30_000);
  const session = await world.session("Writer task and its queue");
  await open(page, world, session);
  await shoot("empty");
  await say(page, WRITES);
  await until("it is whole", async () => (await answerOf(page)).includes("before the marker is"), 60_000);
  await until("it rests", async () => (await field(page).getAttribute("placeholder")) === "Write a message");
  await shoot("settled");
  await say(page, WORKS);
  await page.getByText("Thinking").first().waitFor();
  await shoot("thinking");
  await writes(100);
  await field(page).fill("And then look at macOS, too");
  await shoot("writing");
  await field(page).fill("");
  await say(page, "Which of them are new?");
  await say(page, "Only those of this week, please", "Alt+Enter");
  await until("two wait", async () => (await page.locator(".q").count()) === 2);
  await shoot("queue");
  for (let count = 2; count > 0; count -= 1) {
    await page.locator(".q").first().getByRole("button", { name: "Remove" }).click();
    await until("it is gone", async () => (await page.locator(".q").count()) === count - 1);
  }
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.locator("[data-marker=stopped]").last().waitFor();
  await shoot("stopped");
  await page.getByRole("button", { name: /^Context/ }).click();
  await shoot("context");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Alt+z");
  await page.getByText("Turn undone.").waitFor();
  await shoot("taken-back");
  await page.getByRole("button", { name: "History" }).click();
  await page.getByRole("dialog").getByText("Undone at").waitFor();
  await shoot("history");
  await page.getByRole("dialog").getByRole("button", { name: "Redo" }).click();
  await until("it is back", async () => (await page.locator("[data-marker=stopped]").count()) === 1);
  if (look.startsWith("phone")) await page.goto(world.origin);
  await page.getByRole("searchbox").fill("port");
  await page.getByRole("link", { name: "Writer task" }).first().waitFor();
  await shoot("search");
  await page.getByRole("searchbox").fill("");
  const live = await world.session("What happened last night");
  await open(page, world, live);
  await say(page, READS);
  await writes(60);
  await world.kill();
  await page.locator(".strip").waitFor({ timeout: 10_000 });
  await shoot("away");
  const [question, answer] = LATER;
  await say(page, question);
  await shoot("waiting");
  await world.serve();
  await page.locator(".strip.ok").waitFor({ timeout: 20_000 });
  await shoot("back");
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await page.getByText("Queue paused").waitFor();
  await shoot("paused");
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await until("the next one is answered", async () => (await answerOf(page)).includes(answer), 30_000);
  await shoot("recovered");
  await page.goto(world.origin);
  await page.getByRole("link", { name: "What happened last night" }).first().waitFor();
  await shoot("list");
  await page.context().close();
}

/** The same looks of everything around it, on a server that was lived in for a while. */
async function surroundings() {
  const world = await World.make({ model: "reciting" });
  teach(world.reciter);
  const lived = await settle(world);
  try {
    for (const [look, options] of LOOKS) {
      const page = await world.page(options);
      const path = (scene) => join(shots, `${look}-${scene}.png`);
      const shoot = Object.assign((scene) => page.screenshot({ path: path(scene) }), { path });
      await around(world, page, shoot, lived, look.startsWith("phone"));
      await page.context().close();
    }
  } finally {
    await lived.hook.stop();
    await world.end();
  }
}

await surroundings();
const world = await World.make({ model: "reciting" });
teach(world.reciter);
try {
  for (const [look, options] of LOOKS) await scenes(world, look, options);
  const page = await (await world.browser.newContext({ viewport: { width: 1280, height: 800 } })).newPage();
  await page.goto(world.origin);
  await page.getByLabel("Password").waitFor();
  await page.screenshot({ path: join(shots, "light-sign-in.png") });
} finally {
  await world.end();
}
if (process.argv.includes("--real")) await realModel(shots);
console.log(`screenshots are in ${shots}`);
