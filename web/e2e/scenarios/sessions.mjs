// The list of sessions: put in order by mouse and by keyboard, on one page and on two, thrown away and fetched back.

import assert from "node:assert/strict";
import { until } from "../world.mjs";
import { answered, button, dialog, link, lists, menu, nav, of, place, row, view } from "./list.mjs";
import { shows } from "./look.mjs";

/** The text of what has the focus. */
const focus = (page) => page.evaluate(() => document.activeElement?.textContent ?? "");

/** Goes by arrows to the row of a session. */
async function goTo(page, title) {
  await page.keyboard.press("Control+Shift+F");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Home");
  for (let steps = 0; steps < 300 && !(await focus(page)).includes(title); steps += 1)
    await page.keyboard.press("ArrowDown");
  assert.ok((await focus(page)).includes(title), `${title} is reached by arrows`);
}

export const sessions = {
  async organise_by_mouse(world) {
    const ids = [];
    for (const name of ["Mouse one", "Mouse two", "Mouse three"]) ids.push(await world.session(name));
    const page = await world.page();
    await lists(page, "Mouse", ["Mouse three", "Mouse two", "Mouse one"]);

    // A pin stands first, also after a reload.
    await menu(page, "Mouse one", "Pin");
    await lists(page, "Mouse", ["Mouse one", "Mouse three", "Mouse two"]);
    await page.reload();
    await lists(page, "Mouse", ["Mouse one", "Mouse three", "Mouse two"]);
    await menu(page, "Mouse one", "Unpin");
    await lists(page, "Mouse", ["Mouse three", "Mouse two", "Mouse one"]);

    await menu(page, "Mouse two", "Rename");
    await dialog(page).getByLabel("Session name").fill("Mouse deux");
    await dialog(page).getByRole("button", { name: "Rename" }).click();
    // A name that a person gives is activity, and no news to who gave it.
    await lists(page, "Mouse", ["Mouse deux", "Mouse three", "Mouse one"]);
    assert.equal(await row(page, "Mouse deux").locator(".unread").count(), 0);

    // A project of its own, then only what stands in it.
    await menu(page, "Mouse three", "Move to project");
    await dialog(page).getByLabel("New project").check();
    await dialog(page).getByLabel("Project name").fill("Mousehole");
    await dialog(page).getByRole("button", { name: "Move", exact: true }).click();
    await view(page, "Projects").click();
    await button(page, "Mousehole").click();
    await lists(page, "Mouse", ["Mouse three"]);
    await page.getByRole("button", { name: "Project options" }).first().waitFor();
    await button(page, "Mousehole").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Rename project" }).click();
    await dialog(page).getByLabel("Project name").fill("Mouseburrow");
    await dialog(page).getByRole("button", { name: "Rename" }).click();
    await button(page, "Mouseburrow").click();
    await lists(page, "Mouse", ["Mouse deux", "Mouse three", "Mouse one"]);

    await menu(page, "Mouse one", "Tags");
    await dialog(page).getByLabel("Add a tag").fill("Whiskers, tail");
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await button(page, "whiskers").click();
    await lists(page, "", ["Mouse one"]);
    await button(page, "whiskers").click();
    assert.deepEqual((await of(world, ids[0])).tags, ["tail", "whiskers"]);

    // Taken away, the project leaves its sessions where they are.
    await button(page, "Mouseburrow").click({ button: "right" });
    await page.getByRole("menuitem", { name: "Delete project" }).click();
    await dialog(page).getByRole("button", { name: "Delete project" }).click();
    await until("it is gone", async () => (await button(page, "Mouseburrow").count()) === 0);
    await lists(page, "Mouse", ["Mouse deux", "Mouse three", "Mouse one"]);

    await menu(page, "Mouse three", "Archive");
    await row(page, "Archived.").getByRole("button", { name: "Undo" }).click();
    await lists(page, "Mouse", ["Mouse deux", "Mouse three", "Mouse one"]);
    assert.equal((await of(world, ids[2])).archived, false);
  },

  async organise_by_keyboard(world) {
    const ids = [];
    for (const name of ["Keys one", "Keys two", "Keys three"]) ids.push(await world.session(name));
    const page = await world.page();
    await lists(page, "Keys", ["Keys three", "Keys two", "Keys one"]);
    const press = (...keys) =>
      keys.reduce((before, key) => before.then(() => page.keyboard.press(key)), Promise.resolve());

    // The focus goes with the row that is pinned.
    await goTo(page, "Keys one");
    await press("p");
    await lists(page, "Keys", ["Keys one", "Keys three", "Keys two"]);
    await until("it has the focus", async () => (await focus(page)).includes("Keys one"));
    await press("p");
    await lists(page, "Keys", ["Keys three", "Keys two", "Keys one"]);

    // Archived: what takes it back is where the row was, and has the focus.
    await goTo(page, "Keys two");
    await press("x");
    await until("Undo has the focus", async () => (await focus(page)) === "Undo");
    assert.equal((await of(world, ids[1])).archived, true);
    await press("Enter");
    await lists(page, "Keys", ["Keys three", "Keys two", "Keys one"]);
    await until("the row has the focus", async () => (await focus(page)).includes("Keys two"));

    await press("m");
    await dialog(page).waitFor();
    await press("ArrowUp", "Tab");
    await page.keyboard.insertText("Keyhole");
    await press("Enter");
    await until("it stands there", async () => (await of(world, ids[1])).project != null);
    await until("the row has the focus", async () => (await focus(page)).includes("Keys two"));

    // Two are selected, and let go.
    await press("Space", "ArrowUp", "Space");
    await nav(page).getByText("2 selected").waitFor();
    await press("Escape");
    await until("none is", async () => (await nav(page).getByText("selected").count()) === 0);

    // By its menu.
    await press("Shift+F10");
    await page.getByRole("menuitem", { name: "Rename" }).waitFor();
    await press("Enter");
    await dialog(page).waitFor();
    await press("Control+a");
    await page.keyboard.insertText("Keys drei");
    await press("Enter");
    await lists(page, "Keys", ["Keys drei", "Keys two", "Keys one"]);

    await goTo(page, "Keys one");
    await press("Delete");
    await row(page, "Moved to trash. Deleted permanently in 30 days.").waitFor();
    assert.equal((await of(world, ids[0])).trashed, true);

    await goTo(page, "Keys two");
    await press("Enter");
    await until("it is open", () => page.url().endsWith(ids[1]));
  },

  /** What is done on one page is seen on the other. */
  async two_pages_agree(world) {
    const session = await world.session("Pair one");
    await world.session("Pair two");
    const [page, other] = [await world.page(), await world.page({ width: 390, height: 844 })];
    await lists(other, "Pair", ["Pair two", "Pair one"]);
    await menu(page, "Pair one", "Pin");
    await lists(other, "Pair", ["Pair one", "Pair two"]);
    await row(other, "Pair one").getByRole("button", { name: "More", exact: true }).click();
    await other.getByRole("menuitem", { name: "Archive" }).click();
    await lists(page, "Pair", ["Pair two"]);
    await place(page, "Archive").click();
    await lists(page, "Pair", ["Pair one"]);
    await row(other, "Archived.").getByRole("button", { name: "Undo" }).click();
    await lists(page, "Pair", []);
    await view(page, "All").click();
    await lists(page, "Pair", ["Pair one", "Pair two"]);

    // What is written while nobody looks at it is new; looked at, it is not.
    await world.ask("POST", `/sessions/${session}/messages`, { text: "say 2 of pair" });
    await answered(world, session);
    await until("it is new", () => row(page, "Pair one").locator(".unread").isVisible());
    await link(page, "Pair one").click();
    await shows(page, 2, "pair");
    await world.ask("PATCH", `/sessions/${session}`, { pinned: false });
    await page.goto(world.origin);
    await lists(page, "Pair", ["Pair one", "Pair two"]);
    assert.equal(await row(page, "Pair one").locator(".unread").count(), 0);
    assert.ok(
      await row(other, "Pair one").locator(".unread").isVisible(),
      "the other device did not show it",
    );
  },

  async live_and_needs_you(world) {
    const [writes, fails] = [await world.session("State writes"), await world.session("State fails")];
    const page = await world.page();
    await lists(page, "State", ["State fails", "State writes"]);
    await world.ask("POST", `/sessions/${fails}/messages`, {
      text: "recite refuse\nThe quota is used up",
      model: "reciting",
    });
    await row(page, "State fails").getByText("Needs you: the answer failed").waitFor();
    await world.ask("POST", `/sessions/${writes}/messages`, { text: "say 3000 of ruff pace 10" });
    await row(page, "State writes").getByText("Writing").waitFor();
    await until("both are counted", async () => {
      const counts = await world.ask("GET", "/sessions/counts");
      const words = await Promise.all(["Live", "Needs you"].map((name) => view(page, name).textContent()));
      return words[0] === `Live ${counts.live}` && words[1] === `Needs you ${counts.needs_you}`;
    });
    await view(page, "Live").click();
    await lists(page, "State", ["State writes"]);
    await view(page, "Needs you").click();
    await lists(page, "State", ["State fails"]);
    // Whoever goes on with it is no longer needed.
    await world.ask("POST", `/sessions/${fails}/messages`, { text: "say 2 of ruff" });
    await lists(page, "State", []);
    await view(page, "Live").click();
    await world.ask("POST", `/sessions/${writes}/stop`, {});
    await lists(page, "State", []);
  },

  async trash_and_erase(world) {
    const [kept, erased] = [await world.session("Waste kept"), await world.session("Waste erased")];
    const page = await world.page();
    for (const title of ["Waste kept", "Waste erased"]) await menu(page, title, "Move to trash");
    await until(
      "both say so",
      async () => (await row(page, "Deleted permanently in 30 days.").count()) === 2,
    );
    await place(page, "Trash").click();
    await lists(page, "Waste", ["Waste erased", "Waste kept"]);
    await row(page, "Waste kept").getByText("30 days left").waitFor();
    await row(page, "Waste kept").hover();
    await row(page, "Waste kept").getByRole("button", { name: "Restore" }).click();
    await row(page, "Restored.").waitFor();
    assert.equal((await of(world, kept)).trashed, false);

    await menu(page, "Waste erased", "Delete permanently");
    await dialog(page).getByRole("heading", { name: "Permanently delete 1 session?" }).waitFor();
    await dialog(page).getByText("This can't be undone.").waitFor();
    await dialog(page).getByRole("button", { name: "Cancel" }).click();
    assert.equal((await of(world, erased)).trashed, true);
    await menu(page, "Waste erased", "Delete permanently");
    await dialog(page).getByRole("button", { name: "Delete permanently" }).click();
    await nav(page).getByText("Permanently deleted 1 session.").waitFor();
    await lists(page, "Waste", []);
    await assert.rejects(of(world, erased), /404/);

    await world.ask("PATCH", `/sessions/${kept}`, { trashed: true });
    await lists(page, "Waste", ["Waste kept"]);
    await button(page, "Empty trash").click();
    await dialog(page)
      .getByText(/sessions? and all/)
      .waitFor();
    await dialog(page).getByRole("button", { name: "Delete permanently" }).click();
    await nav(page).getByText("The trash is empty.").waitFor();
    await assert.rejects(of(world, kept), /404/);
    await view(page, "All").click();
    await lists(page, "Waste", []);
  },

  async many_at_once(world) {
    const ids = [];
    for (let count = 1; count <= 6; count += 1) ids.push(await world.session(`Flock ${count}`));
    const page = await world.page();
    await link(page, "Flock 6").click({ modifiers: ["Control"] });
    await link(page, "Flock 3").click({ modifiers: ["Shift"] });
    await nav(page).getByText("4 selected").waitFor();
    await link(page, "Flock 4").click({ modifiers: ["Control"] });
    await nav(page).getByText("3 selected").waitFor();

    await button(page, "Tags").click();
    await dialog(page).getByLabel("Add a tag").fill("flock");
    await dialog(page).getByRole("button", { name: "Save" }).click();
    await nav(page).getByText("Updated tags of 3 sessions.").waitFor();
    const { sessions } = await world.ask("GET", "/sessions?tag=flock");
    assert.deepEqual(sessions.map(({ title }) => title).toSorted(), ["Flock 3", "Flock 5", "Flock 6"]);

    // One of them is erased by somebody else at that moment: what was done and what was not is said.
    for (const title of ["Flock 3", "Flock 5", "Flock 6"])
      await link(page, title).click({ modifiers: ["Control"] });
    await page.route(`**/sessions/${ids[4]}`, (route) =>
      route.fulfill({
        status: 404,
        contentType: "application/problem+json",
        body: JSON.stringify({ code: "session_not_found", detail: "There is no such session." }),
      }),
    );
    await nav(page).locator(".picked").getByRole("button", { name: "Archive" }).click();
    await nav(page)
      .getByText(
        "Archived 2 of 3 sessions. 1 session couldn't be changed. This session may have been deleted",
      )
      .waitFor();
    await nav(page).getByText("1 selected").waitFor();
    await page.unroute(`**/sessions/${ids[4]}`);
    await lists(page, "Flock", ["Flock 5", "Flock 4", "Flock 2", "Flock 1"]);

    await place(page, "Archive").click();
    for (const title of ["Flock 3", "Flock 6"]) await link(page, title).click({ modifiers: ["Control"] });
    await nav(page).locator(".picked").getByRole("button", { name: "Unarchive" }).click();
    await nav(page).getByText("Restored 2 sessions.").waitFor();
    await view(page, "All").click();
    await lists(page, "Flock", ["Flock 6", "Flock 5", "Flock 4", "Flock 3", "Flock 2", "Flock 1"]);
  },

  /** However many there are, only those in sight are in the page, and who reads in the middle is not moved. */
  async long_list(world, { full }) {
    const count = full ? 2_000 : 500;
    for (let at = 0; at < count; at += 20)
      await Promise.all(Array.from({ length: 20 }, (_, more) => world.session(`Long ${at + more}.`)));
    const page = await world.page();
    const area = page.locator(".side .list");
    await until(
      "the oldest is reached",
      async () => {
        await area.evaluate((node) => (node.scrollTop += node.clientHeight * 0.8));
        return (await row(page, "Long 0.").count()) === 1;
      },
      60_000,
    );
    assert.ok((await nav(page).locator("*").count()) < 1_000, "the page stays small");
    await area.evaluate((node) => (node.scrollTop = node.scrollHeight / 2));
    const title = () =>
      area.evaluate((node) => {
        const { top } = node.getBoundingClientRect();
        const seen = [...node.querySelectorAll(".sess .t")];
        return seen.find((one) => one.getBoundingClientRect().top > top + 60)?.textContent;
      });
    const read = await until("something is in sight", title);
    const top = () => row(page, read).evaluate((node) => node.getBoundingClientRect().top);
    const before = await top();
    for (let made = 0; made < 3; made += 1) {
      const session = await world.session(`Long and new ${made}`);
      await world.ask("POST", `/sessions/${session}/messages`, { text: "say 2 of new" });
      await answered(world, session);
    }
    assert.ok(Math.abs((await top()) - before) <= 1, `0 px jump, not ${(await top()) - before}`);
    await area.evaluate((node) => (node.scrollTop = 0));
    await row(page, "Long and new 2").waitFor();
  },
};
