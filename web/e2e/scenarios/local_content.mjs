// Data stored in the browser: deleted at sign-out, hidden from other users, and complete with several tabs open.

import assert from "node:assert/strict";

import { field, open, until } from "../world.mjs";
import { nav } from "./list.mjs";
import { beside, choose, shows } from "./look.mjs";

const MEMBER = { name: "siskin", password: "a siskin hangs on the alder" };

/** Runs in the page. Everything that it keeps on the device, as one text. */
async function keptHere() {
  const texts = [JSON.stringify(localStorage), JSON.stringify(sessionStorage)];
  for (const { name } of await indexedDB.databases()) {
    const database = await new Promise((resolve, reject) => {
      const asked = indexedDB.open(name);
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
    for (const store of database.objectStoreNames) {
      const values = database.transaction(store).objectStore(store);
      for (const asked of [values.getAllKeys(), values.getAll()])
        texts.push(
          await new Promise((resolve, reject) => {
            asked.onsuccess = () => resolve(JSON.stringify(asked.result));
            asked.onerror = () => reject(asked.error);
          }),
        );
    }
    database.close();
  }
  for (const name of await caches.keys()) {
    const cache = await caches.open(name);
    for (const request of await cache.keys())
      texts.push(request.url, await (await cache.match(request)).text());
  }
  return texts.join("\n");
}

/** Reads what is kept, again if the page navigates meanwhile, as it does after signing out. */
async function kept(page, tries = 5) {
  try {
    return await page.evaluate(keptHere);
  } catch (error) {
    if (tries === 0 || !error.message.includes("context was destroyed")) throw error;
    await page.waitForLoadState();
    return kept(page, tries - 1);
  }
}

const isKept = async (page, word) => (await kept(page)).includes(word);

/** A session with an answer and a draft, all of it on this device. */
async function written(page, world, { answer, draft }) {
  const session = await world.session("kept here");
  await open(page, world, session);
  await field(page).fill(`say 2 of ${answer}`);
  await field(page).press("Enter");
  await shows(page, 2, answer);
  await field(page).fill(draft);
  await page.getByText("Draft saved").waitFor();
  await until("the replica has the answer", () => isKept(page, `${answer}.2`));
  assert.ok(await isKept(page, draft));
  return session;
}

const signOut = (page) => choose(page, "sign out", "Sign out");

const isSignedOut = (page) => page.getByText("Please sign in.", { exact: true }).waitFor();

async function nothingKept(page, words) {
  for (const word of words) assert.equal(await isKept(page, word), false, `${word} is kept`);
}

export const localContent = {
  async signing_out_deletes_what_the_server_has(world) {
    const page = await world.page();
    const session = await written(page, world, { answer: "fulmar", draft: "about petrels" });
    const other = await beside(page);
    await open(other, world, session);
    await signOut(page);
    for (const left of [page, other]) await isSignedOut(left);
    await nothingKept(page, ["fulmar", "petrels", session]);
    await other.close();
  },

  async signing_out_asks_about_what_is_on_this_device_only(world) {
    const page = await world.page();
    const session = await written(page, world, { answer: "gannet", draft: "about auks" });
    await page.route("**/draft", (route) => route.abort());
    await field(page).fill("about auks and puffins");
    await page.getByText("Draft saved on this device").waitFor();
    await signOut(page);
    const dialog = page.getByRole("dialog", { name: "Sign out?" });
    await dialog.getByText("1 draft").waitFor();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    assert.equal(await field(page).inputValue(), "about auks and puffins");

    await signOut(page);
    await dialog.getByRole("button", { name: "Keep on this device" }).click();
    await isSignedOut(page);
    await nothingKept(page, ["gannet"]);
    assert.ok(await isKept(page, "about auks and puffins"));
    await world.signIn(page);
    await nav(page).waitFor();
    await open(page, world, session);
    await until("the draft is back", async () => (await field(page).inputValue()).includes("and puffins"));

    await page.getByText("Draft saved on this device").waitFor();
    await signOut(page);
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await isSignedOut(page);
    await nothingKept(page, ["gannet", "puffins", session]);
  },

  async another_user_gets_nothing_of_the_one_before(world) {
    await world.ask("POST", "/users", { ...MEMBER, role: "member" });
    const first = await world.page();
    const session = await written(first, world, { answer: "dunlin", draft: "about knots" });
    await first.close();
    const context = first.context();
    // The login is gone, and what the browser keeps is not.
    await context.clearCookies();
    const sent = [];
    const page = await context.newPage();
    page.on("request", (request) => sent.push(`${request.url()} ${request.postData() ?? ""}`));
    page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => sent.push(String(payload))));
    await page.goto(world.origin);
    await world.signIn(page, MEMBER);
    await page.getByRole("button", { name: "New session" }).first().click();
    await field(page).fill("say 2 of sanderling");
    await field(page).press("Enter");
    await shows(page, 2, "sanderling", 30_000);
    assert.equal(await page.getByText("knots").count(), 0);
    for (const word of [session, "dunlin", "knots"])
      assert.deepEqual(
        sent.filter((text) => text.includes(word)),
        [],
        `${word} is sent`,
      );
    await page.close();
  },

  async two_tabs_keep_their_drafts(world) {
    const session = await world.session("two drafts");
    const first = await world.page();
    await open(first, world, session);
    const second = await beside(first);
    await open(second, world, session);
    // The page itself comes from its cache while the server is away.
    await first.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
    world.network.set("reset");
    const drafts = ["a long thought in tab one", "x marks tab two"];
    await field(first).fill(drafts[0]);
    await field(second).fill(drafts[1]);
    for (const page of [first, second]) await page.getByText("Draft saved on this device").waitFor();
    await first.reload();
    await until("its own text is back", async () => (await field(first).inputValue()) === drafts[0]);
    await second.close();
    await first.reload();
    await until("both are there", async () => {
      const text = await field(first).inputValue();
      return drafts.every((draft) => text.includes(draft));
    });
    world.network.set("pass");
    await first.getByText("Draft saved").waitFor({ timeout: 30_000 });
    await field(first).fill("");
    await first.reload();
    await field(first).waitFor();
    await first.locator(".strip").waitFor({ state: "detached" });
    assert.equal(await field(first).inputValue(), "", "what was deleted stays deleted");
  },
};
