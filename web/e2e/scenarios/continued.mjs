// An answer that was cut and continued is the uncut answer, to the eye and to the clipboard; a queue that Stop paused waits.

import assert from "node:assert/strict";

import { answerOf, field, open, say, until } from "../world.mjs";
import { menu } from "./list.mjs";
import { knots, markers, messages, stopButton, tray } from "./look.mjs";

const RICH = `Here is the parser, and what it costs.

\`\`\`rust
fn parse(line: &str) -> Option<(u64, &str)> {
    let (number, rest) = line.split_once(' ')?;
    let number = number.parse().ok()?;
    if rest.is_empty() {
        return None;
    }
    Some((number, rest))
}
\`\`\`

| Input | Time | Bytes |
| :--- | ---: | ---: |
| short | 12 ns | 0 |
| long 🎉 | 480 ns | 64 |

1. Measure first.
   - Use a **release** build.
   - Warm the caches.
2. Then change one thing:

> Two changes at once tell you nothing.

- [x] Benchmarks run
- [ ] Numbers in the report

That is all; \`parse\` stays as it is.
`;

/** What the newest answer looks like, without its knots. */
function drawn(page) {
  return page.evaluate(() => {
    const turn = [...document.querySelectorAll("article[data-turn]")].at(-1);
    const parts = turn?.querySelector(".parts")?.cloneNode(true);
    for (const cuts of parts?.querySelectorAll(".cuts") ?? []) cuts.remove();
    // An element keeps the order in which its attributes came.
    const sorted = (given) =>
      given
        .match(/[\w-]+="[^"]*"/g)
        .toSorted()
        .join(" ");
    return (parts?.innerHTML ?? "").replace(
      /<(\w+) ([^<>]*)>/g,
      (_, element, given) => `<${element} ${sorted(given)}>`,
    );
  });
}

/** What "Copy answer" takes along of the newest answer, and what a selection of it does. */
async function copied(page) {
  const turn = page.locator("article[data-turn]").last();
  await turn.hover();
  await turn.getByRole("button", { name: "Copy answer" }).click();
  const button = await until("it is copied", () => page.evaluate(() => navigator.clipboard.readText()));
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await turn.locator(".parts").evaluate((parts) => getSelection().selectAllChildren(parts));
  const selection = await page.evaluate(() => getSelection().toString());
  await page.evaluate(() => getSelection().removeAllRanges());
  return { button, selection };
}

const rests = (world, session) =>
  until("it rests", async () => (await world.ask("GET", `/sessions/${session}`)).run == null, 30_000);

/** Has the text recited up to a place, and waits until that is seen. */
async function reciteTo(page, world, session, at, { how = "", model = "reciting" } = {}) {
  const text = `recite hold ${at} ${how}\n${RICH}`;
  await world.ask("POST", `/sessions/${session}/messages`, { text, model });
  const letters = [...RICH.slice(0, at)].length;
  await until("it is written up to the cut", async () => {
    const { turns, run } = await world.ask("GET", `/sessions/${session}`);
    const parts = turns.at(-1)?.answer?.parts ?? [];
    return run != null && [...(parts.at(-1)?.text ?? "")].length === letters;
  });
}

/** The answer without a cut: what every other one is held to. */
async function whole(page, world) {
  const session = await world.session("Uncut");
  await open(page, world, session);
  await world.ask("POST", `/sessions/${session}/messages`, { text: `recite\n${RICH}`, model: "reciting" });
  await rests(world, session);
  await until("it is drawn", async () => (await answerOf(page)).includes("stays as it is"));
  await until("its code has colors", () => page.locator(".parts pre code span[class]").first().isVisible());
  const told = await copied(page);
  assert.equal(told.button, RICH);
  return { drawn: await drawn(page), ...told };
}

async function sameAs(uncut, page, at) {
  await until(
    `cut at ${at}, it is drawn as the uncut answer`,
    async () => (await drawn(page)) === uncut.drawn,
  );
  const { button, selection } = await copied(page);
  assert.equal(button, uncut.button, `cut at ${at}: the copy`);
  assert.equal(selection, uncut.selection, `cut at ${at}: the selection`);
  assert.equal(await page.locator("article[data-turn]").last().locator("figure.code").count(), 1);
  assert.equal(await page.locator("article[data-turn]").last().locator("table").count(), 1);
  assert.deepEqual(await markers(page), [], `cut at ${at}: no marker is left`);
}

const CLIPBOARD = { permissions: ["clipboard-read", "clipboard-write"] };
const CUTS = 24;

/** Places all over the text, between whole characters. */
function places() {
  const all = Array.from({ length: CUTS }, (_, at) => Math.round(((at + 0.5) * RICH.length) / CUTS));
  return all.map((at) => (/[\udc00-\udfff]/.test(RICH[at]) ? at + 1 : at));
}

const inCode = RICH.indexOf("number.parse");

export const continued = {
  /** By the buttons once, and then all over the text. */
  async stopped_and_continued_is_one_answer(world) {
    const page = await world.page(CLIPBOARD);
    const uncut = await whole(page, world);
    const session = await world.session("Cut");
    await open(page, world, session);
    await reciteTo(page, world, session, inCode);
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
    await page.getByRole("button", { name: "Continue" }).click();
    await rests(world, session);
    await sameAs(uncut, page, inCode);
    const [knot, ...others] = await knots(page);
    assert.match(knot.words, /^Stopped at .+\. The answer continues here\.$/);
    assert.deepEqual(others, []);
    // Beside the code in which it happened, and in the margin.
    const cut = await page.locator(".parts .cut").boundingBox();
    const code = await page.locator(".parts figure.code").boundingBox();
    assert.ok(cut.x + cut.width <= code.x, "it stands beside the text");
    assert.ok(cut.y >= code.y - 4 && cut.y < code.y + code.height, "it stands where the text was cut");

    for (const at of places()) {
      await reciteTo(page, world, session, at);
      const { run } = await world.ask("GET", `/sessions/${session}`);
      await world.ask("POST", `/sessions/${session}/stop`, { run });
      await rests(world, session);
      await world.ask("POST", `/sessions/${session}/continue`);
      await rests(world, session);
      await sameAs(uncut, page, at);
      assert.equal((await knots(page)).length, 1, `cut at ${at}: one knot`);
    }
  },

  /** A model that takes no prefix is asked to continue: it repeats what it wrote, and may apologize first. */
  async a_model_that_repeats_itself_is_one_answer(world) {
    const page = await world.page(CLIPBOARD);
    const uncut = await whole(page, world);
    const url = `http://127.0.0.1:${world.reciter.server.address().port}/v1`;
    const model = { provider: "openai", url, model: "reciting", takes_prefix: false };
    await world.ask("PUT", "/models/repeating", model);
    try {
      const session = await world.session("Repeated");
      await open(page, world, session);
      for (const [at, how] of [
        [inCode, "again 60"],
        [inCode + 40, "again 90 sorry"],
        [RICH.indexOf("480 ns"), "again 45"],
        [RICH.indexOf("caches"), "again 120 sorry"],
      ]) {
        await reciteTo(page, world, session, at, { how, model: "repeating" });
        await stopButton(page).click();
        await page.locator("[data-marker=stopped]").getByRole("button", { name: "Continue" }).click();
        await rests(world, session);
        await sameAs(uncut, page, at);
      }
    } finally {
      await world.ask("DELETE", "/models/repeating");
    }
  },

  async killed_in_code_is_one_answer(world) {
    const page = await world.page(CLIPBOARD);
    const uncut = await whole(page, world);
    const session = await world.session("Killed in code");
    await open(page, world, session);
    await reciteTo(page, world, session, inCode);
    await world.kill();
    await world.serve();
    await rests(world, session);
    await sameAs(uncut, page, inCode);
    const [knot, ...others] = await knots(page);
    assert.match(
      knot.words,
      /^Interrupted at .+: the server stopped unexpectedly\. The answer continues here\.$/,
    );
    assert.deepEqual(others, []);
    // The words are seen by who points at the knot, and by who comes to it with the keyboard.
    const shown = () =>
      page.locator(".parts .cut").evaluate((cut) => getComputedStyle(cut, "::after").content);
    assert.equal(await shown(), "none");
    await page.locator(".parts .cut").hover();
    assert.ok((await shown()).includes("the server stopped unexpectedly"));
    await page.mouse.move(0, 0);
    await page.locator(".parts .cut").focus();
    assert.ok((await shown()).includes("the server stopped unexpectedly"));
    await page.getByRole("link", { name: "Timeline" }).click();
    await page
      .getByText(
        "The answer was interrupted: the server stopped unexpectedly. Everything written so far is saved.",
      )
      .waitFor();
  },

  /** A stranger reads it as one text too. */
  async continued_answer_is_shared_as_one(world) {
    const page = await world.page(CLIPBOARD);
    const uncut = await whole(page, world);
    const session = await world.session("Shared after a cut");
    await open(page, world, session);
    await reciteTo(page, world, session, inCode);
    await stopButton(page).click();
    await page.getByRole("button", { name: "Continue" }).click();
    await rests(world, session);
    await menu(page, "Shared after a cut", "Share");
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: "Create link" }).click();
    const link = await dialog.getByLabel("Share link").inputValue();
    const other = await world.visit();
    await other.goto(link);
    await until("it is drawn as the uncut answer", async () => (await drawn(other)) === uncut.drawn);
    assert.equal((await knots(other)).length, 1);
  },

  async interrupted_three_times_is_stuck(world) {
    const session = await world.session("Stuck");
    const page = await world.page();
    await open(page, world, session);
    await world.ask("POST", `/sessions/${session}/messages`, { text: "recite mute", model: "reciting" });
    for (let times = 1; times <= 3; times += 1) {
      await until(
        "it runs",
        async () => (await world.ask("GET", `/sessions/${session}`)).run != null,
        30_000,
      );
      await world.kill();
      await world.serve();
    }
    const marker = page.locator("[data-marker=interrupted]");
    await marker
      .getByText("Interrupted three times without new output. It won't resume automatically.")
      .waitFor({ timeout: 30_000 });
    await marker.getByRole("button", { name: "Continue" }).click();
    await until("it runs again", () => stopButton(page).isVisible());
    await stopButton(page).click();
    await page.locator("[data-marker=stopped]").waitFor();
  },

  async output_limit_is_neutral(world) {
    const session = await world.session("Limited");
    const page = await world.page(CLIPBOARD);
    await open(page, world, session);
    const text = `recite limit 300\n${RICH}`;
    await world.ask("POST", `/sessions/${session}/messages`, { text, model: "reciting" });
    const marker = page.locator("[data-marker=output_limit]");
    await marker.getByText(/^Reached the output limit \([\d,]+ tokens\)\.$/).waitFor();
    assert.equal(await marker.locator(".err").count(), 0);
    const { sessions } = await world.ask("GET", "/sessions?count=200");
    assert.equal(sessions.find((line) => line.session === session).needs ?? null, null);
    assert.equal(await page.locator(`[data-session="${session}"]`, { hasText: "Needs you" }).count(), 0);
    await marker.getByRole("button", { name: "Continue" }).click();
    await rests(world, session);
    await until("it is whole", async () => (await copied(page)).button === RICH);
    const [knot] = await knots(page);
    assert.match(knot.words, /^Reached the output limit \([\d,]+ tokens\)\. The answer continues here\.$/);
  },

  async task_lists(world) {
    const session = await world.session("Tasks");
    const page = await world.page();
    await open(page, world, session);
    const text = "recite\n- [x] done\n- [ ] open\n\nand loose:\n\n1. [x] one\n\n2. [ ] two";
    await world.ask("POST", `/sessions/${session}/messages`, { text, model: "reciting" });
    const boxes = page.locator(".parts li.task");
    await until("all are there", async () => (await boxes.count()) === 4);
    assert.deepEqual(await boxes.allTextContents(), ["done", "open", "one", "two"]);
    const checked = await boxes
      .locator("input")
      .evaluateAll((inputs) => inputs.map((input) => input.checked));
    assert.deepEqual(checked, [true, false, true, false]);
    const [box, words] = await Promise.all([
      boxes.first().locator("input").boundingBox(),
      boxes.first().locator("div").boundingBox(),
    ]);
    assert.ok(box.x + box.width <= words.x && box.y < words.y + words.height, "box and words share a line");
  },

  async focus_goes_to_the_composer(world) {
    const session = await world.session("Focus");
    const page = await world.page();
    await open(page, world, session);
    const focused = () => field(page).evaluate((area) => document.activeElement === area);
    const stopped = async (ask) => {
      await ask();
      await stopButton(page).click();
      await page.locator("[data-marker=stopped]").waitFor();
    };
    await stopped(() => say(page, "say 3000 of heron pace 15"));
    for (const name of ["Continue", "Retry"]) {
      const button = page.locator("[data-marker=stopped]").getByRole("button", { name });
      await button.focus();
      await page.keyboard.press("Enter");
      await until(`${name} leaves the focus in the composer`, focused);
      await until("it runs", () => stopButton(page).isVisible());
      await stopped(() => undefined);
    }
    const turn = page.locator("article[data-turn]").last();
    await turn.hover();
    await turn.locator(".acts").getByRole("button", { name: "Retry" }).click();
    await until("the row's Retry leaves the focus in the composer", focused);
    await until("it runs", () => stopButton(page).isVisible());
    await stopped(() => undefined);
  },

  async stop_pauses_the_queue(world) {
    const session = await world.session("Paused");
    const page = await world.page();
    await open(page, world, session);
    const first = "say 3000 of heron pace 15";
    const waiting = async (count) =>
      until(`${count} wait`, async () => (await tray(page).getByRole("listitem").count()) === count);
    const paused = (count) => page.getByText(`Queue paused · ${count} queued`, { exact: true });
    const runs = async () => (await world.ask("GET", `/sessions/${session}`)).run != null;
    const queueTwo = async () => {
      await say(page, first);
      await until("it writes", runs);
      for (const text of ["say 2 of one", "say 2 of two"]) await say(page, text);
      await waiting(2);
      await stopButton(page).click();
      await page.locator("[data-marker=stopped]").last().waitFor();
      await paused(2).waitFor();
    };
    await queueTwo();
    assert.equal(await runs(), false, "nothing is sent");
    assert.deepEqual(await messages(page), [first]);

    await say(page, "say 3 of now");
    await until("a new message goes at once", async () => (await answerOf(page)).includes("now.3"));
    await rests(world, session);
    // A run that ends sends the next message that waits; these are paused.
    assert.deepEqual(await messages(page), [first, "say 3 of now"]);
    await paused(2).waitFor();

    await page.getByRole("button", { name: "Resume", exact: true }).click();
    await waiting(0);
    await until("both were sent", async () => (await messages(page)).length === 4);
    await until("and answered", async () => (await answerOf(page)).includes("two.2"));
    assert.deepEqual((await messages(page)).slice(2), ["say 2 of one", "say 2 of two"]);
    await rests(world, session);

    await queueTwo();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    for (const text of ["say 2 of one", "say 2 of two"]) page.typed.delete(text);
    await waiting(0);
    assert.equal(await paused(2).count(), 0);
    assert.equal(await runs(), false);
    assert.equal((await messages(page)).length, 5);
  },

  async a_long_queue_leaves_room(world) {
    const session = await world.session("Long queue");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3000 of heron pace 15");
    await until("it writes", () => stopButton(page).isVisible());
    for (let at = 0; at < 16; at += 1)
      await world.ask("POST", `/sessions/${session}/messages`, { text: `say 1 of queued${at}` });
    await until("all wait", async () => (await tray(page).getByRole("listitem").count()) === 16);
    const { height } = await page.locator(".tray").boundingBox();
    assert.ok(height <= 0.3 * 800 + 1, `the tray is ${height} high`);
    await stopButton(page).click();
    await page.getByText("Queue paused · 16 queued", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Clear", exact: true }).click();
    await until("none waits", async () => (await tray(page).count()) === 0);
  },
};
