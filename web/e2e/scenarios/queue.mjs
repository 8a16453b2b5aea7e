// Messages while the agent works: they wait on the server, where every device sees them.

import assert from "node:assert/strict";

import { open, say, until } from "../world.mjs";
import { ANDROID, PHONE } from "./devices.mjs";
import { messages, same, shows, stopButton, tray } from "./look.mjs";

const waiting = (page) => tray(page).getByRole("listitem");
const waitFor = (page, count) =>
  until(`${count} wait`, async () => (await waiting(page).count()) === count, 20_000);

/** Sends what Stop paused. */
const resume = (page) => page.getByRole("button", { name: "Resume", exact: true }).click();

export const queue = {
  async queue_and_reload(world) {
    const session = await world.session("queue");
    const [page, phone] = [await world.page(), await world.page({ width: 390, height: 844 })];
    await open(page, world, session);
    await say(page, "say 3000 of duck pace 10");
    await shows(page, 5, "duck");
    for (const text of ["say 2 of one", "say 2 of two", "say 2 of three"]) await say(page, text);
    await waitFor(page, 3);
    await waiting(page).nth(1).getByRole("button", { name: "Remove" }).click();
    page.typed.delete("say 2 of two");
    await waitFor(page, 2);
    await page.reload();
    await waitFor(page, 2);
    await open(phone, world, session);
    await waitFor(phone, 2);
    await waiting(phone).nth(1).getByRole("button", { name: "Edit" }).click();
    await phone.getByLabel("Queued message", { exact: true }).fill("say 2 of four");
    await phone.getByLabel("Queued message", { exact: true }).press("Enter");
    page.typed.delete("say 2 of three");
    await until("the laptop sees the edit", () =>
      waiting(page).nth(1).getByText("say 2 of four").isVisible(),
    );
    await stopButton(page).click();
    await resume(page);
    await shows(page, 2, "four");
    assert.deepEqual(await messages(page), ["say 3000 of duck pace 10", "say 2 of one", "say 2 of four"]);
    await waitFor(page, 0);
  },

  /** Two devices at once: both type, and both change the same message. One wins, and both see the same, and who it was. */
  async two_devices_at_once(world) {
    const session = await world.session("both");
    const [laptop, phone] = [
      await world.page(),
      await world.page({ width: 390, height: 844, userAgent: ANDROID }),
    ];
    for (const page of [laptop, phone]) await open(page, world, session);
    await say(laptop, "say 3000 of plover pace 10");
    for (const page of [laptop, phone]) await shows(page, 3, "plover");
    await Promise.all([say(laptop, "say 2 of left"), say(phone, "say 2 of right")]);
    // Nobody changes this one, so that it stays the phone's.
    await say(phone, "say 2 of far");
    for (const page of [laptop, phone]) await waitFor(page, 3);
    const order = async (page) =>
      (await waiting(page).locator(".clip").allTextContents()).map((text) => text.trim());
    assert.deepEqual(await order(laptop), await order(phone));
    const edit = async (page, text) => {
      await waiting(page).first().getByRole("button", { name: "Edit" }).click();
      await page.getByLabel("Queued message", { exact: true }).fill(text);
      await page.getByLabel("Queued message", { exact: true }).press("Enter");
      await page.getByLabel("Queued message", { exact: true }).waitFor({ state: "detached" });
    };
    await Promise.all([edit(laptop, "say 2 of ours"), edit(phone, "say 2 of theirs")]);
    for (const page of [laptop, phone]) page.typed.clear();
    await until(
      "both see the same",
      async () => (await order(laptop)).join() === (await order(phone)).join(),
    );
    const [won] = await order(laptop);
    assert.ok(["say 2 of ours", "say 2 of theirs"].includes(won), won);
    // Whichever is first stops it for both: the other's button may be gone before it is pressed.
    await Promise.all([laptop, phone].map((page) => page.keyboard.press("Control+.")));
    await resume(laptop);
    for (const page of [laptop, phone]) await waitFor(page, 0);
    await until("it rests", async () => (await world.ask("GET", `/sessions/${session}`)).run == null);
    for (const page of [laptop, phone]) await same(page, world, session);
    assert.deepEqual(await messages(laptop), await messages(phone));
    // Each sees what the other's device said, and where.
    await laptop.getByText(`from ${PHONE}`).first().waitFor();
    await phone
      .getByText(/^from .* on Linux$/)
      .first()
      .waitFor();
  },

  async steer(world) {
    const session = await world.session("steer");
    const page = await world.page();
    await open(page, world, session);
    // A tool between two steps is where a message goes in.
    await say(page, "say 3000 of swan pace 10 call");
    await until("it works", () => stopButton(page).isVisible());
    await say(page, "and look at the reeds", "Alt+Enter");
    await until(
      "it went in, or waits until the turn is over",
      async () =>
        (await page.getByText("steered the agent here").count()) === 1 || (await waiting(page).count()) === 1,
    );
    await say(page, "say 2 of next");
    await until("it waits", async () => (await waiting(page).count()) >= 1);
    await waiting(page).last().getByRole("button", { name: "Steer now" }).click();
    await until("it is to steer", () => waiting(page).last().getByText("Steering").isVisible());
    await stopButton(page).click();
    await resume(page);
    await shows(page, 2, "next", 20_000);
    // The turn ended first, so each was sent as a message of its own; none is dropped.
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    const steered = turns
      .flatMap(({ answer }) => answer?.parts ?? [])
      .flatMap(({ steered }) => steered ?? []);
    const said = [...turns, ...steered].map(({ message }) => message.text);
    assert.deepEqual(said.toSorted(), [
      "and look at the reeds",
      "say 2 of next",
      "say 3000 of swan pace 10 call",
    ]);
  },

  async interrupt(world) {
    const session = await world.session("interrupt");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 3000 of gull pace 10");
    await shows(page, 5, "gull");
    await say(page, "say 2 of now", "Control+Enter");
    await shows(page, 2, "now");
    await until("the marker says why", () => page.getByText("Stopped for your next message.").isVisible());
  },
};
