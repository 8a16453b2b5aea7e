// `just screenshots [--real]`: every scene that exists, from the real product, light, dark and on a phone, into `web/shots`.

import { mkdirSync } from "node:fs";
import { join } from "node:path";

import { realModel } from "./real.mjs";
import { World, answerOf, field, open, say, until } from "./world.mjs";

const shots = join(import.meta.dirname, "../shots");
mkdirSync(shots, { recursive: true });

const LOOKS = [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", width: 390, height: 844 }],
  ["phone-dark", { colorScheme: "dark", width: 390, height: 844 }],
];

const ANSWER = `The writer is the only one who appends, so two answers can never be woven into one. What it does for each
message, in order:

1. **decide** what the message leads to, without touching anything;
2. append the entries in one batch, and wait for the disk;
3. only then tell readers.

\`\`\`rust
pub async fn submit(&self, command: Command) -> Result<Acknowledged, CommandError> {
    let decided = self.decide(command)?; // pure: no clock, no disk
    self.store.append(decided.entries).await?;
    Ok(decided.acknowledged)
}
\`\`\`

| step | may fail | what is kept |
| --- | --- | --- |
| decide | yes, with a reason | everything of before |
| append | yes, if the disk is full | everything of before |
| tell | no | everything |

> On screen means on disk.

The same holds for a stop: what was streamed is in the log before the marker is.`;

async function scenes(world, look, options) {
  const page = await world.page(options);
  const shoot = (scene) => page.screenshot({ path: join(shots, `${look}-${scene}.png`) });
  const writes = (length) => until("it writes", async () => (await answerOf(page)).length > length, 30_000);
  const session = await world.session("Writer task and its queue");
  await open(page, world, session);
  await shoot("empty");
  await page.getByRole("combobox", { name: "Model" }).selectOption("reciting");
  await say(page, `recite pace 3\n${ANSWER}`);
  await until("it is whole", async () => (await answerOf(page)).includes("before the marker is"), 60_000);
  await until("it rests", async () => (await field(page).getAttribute("placeholder")) === "Write a message");
  await shoot("settled");
  await page.getByRole("combobox", { name: "Model" }).selectOption("scripted");
  await say(page, "say 600 of heron pace 10 think 60 call");
  await page.getByText("Thinking").first().waitFor();
  await shoot("thinking");
  await writes(100);
  await field(page).fill("And then tell me about egrets");
  await shoot("writing");
  await field(page).fill("");
  await say(page, "Where do they nest?");
  await say(page, "Only the reeds, please", "Alt+Enter");
  await until("two wait", async () => (await page.locator(".q").count()) === 2);
  await shoot("queue");
  for (let count = 2; count > 0; count -= 1) {
    await page.locator(".q").first().getByRole("button", { name: "Remove" }).click();
    await until("it is gone", async () => (await page.locator(".q").count()) === count - 1);
  }
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator("[data-marker=stopped]").last().waitFor();
  await shoot("stopped");
  await page.getByRole("button", { name: /^Context/ }).click();
  await shoot("context");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+Alt+z");
  await page.getByText("Turn taken back.").waitFor();
  await shoot("taken-back");
  await page.getByRole("button", { name: "History" }).click();
  await page.getByRole("dialog").getByText("Taken back at").waitFor();
  await shoot("history");
  await page.getByRole("dialog").getByRole("button", { name: "Put back" }).click();
  await until("it is back", async () => (await page.locator("[data-marker=stopped]").count()) === 1);
  await page.keyboard.press("Control+k");
  if (look.startsWith("phone")) await page.goto(world.origin);
  await page.getByRole("searchbox").fill("heron");
  await page.getByRole("link", { name: "Writer task" }).first().waitFor();
  await shoot("search");
  await page.getByRole("searchbox").fill("");
  const live = await world.session("Counting terns");
  await open(page, world, live);
  await say(page, "say 900 of tern pace 20");
  await writes(60);
  await world.kill();
  await page.locator(".strip").waitFor({ timeout: 10_000 });
  await shoot("away");
  await say(page, "say 3 of later");
  await shoot("waiting");
  await world.serve();
  await page.locator(".strip.ok").waitFor({ timeout: 20_000 });
  await shoot("back");
  await page.getByRole("button", { name: "Stop" }).click();
  await until("the next one is answered", async () => (await answerOf(page)).includes("later.3"), 30_000);
  await shoot("recovered");
  await page.goto(world.origin);
  await page.getByRole("link", { name: "Counting terns" }).first().waitFor();
  await shoot("list");
  await page.context().close();
}

const world = await World.make();
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
