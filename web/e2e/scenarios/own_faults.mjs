// Faults in the browser: a closed tab, another user, unreadable storage, an outdated page, sleep.

import assert from "node:assert/strict";

import { field, open, say, until } from "../world.mjs";
import { beside, pause, shows } from "./look.mjs";

const turnsOf = async (world, session) => (await world.ask("GET", `/sessions/${session}`)).turns;
const textsOf = async (world, session) => (await turnsOf(world, session)).map(({ message }) => message.text);

const MEMBER = { name: "wren", password: "a wren sings in the hedge" };

export const ownFaults = {
  async another_tab_sends_what_a_closed_one_left(world) {
    const session = await world.session("left behind");
    const first = await world.page();
    const second = await beside(first);
    for (const page of [first, second]) await open(page, world, session);
    world.network.set("reset");
    await say(first, "say 2 of knot");
    await first.getByText("will be sent when the server is back.").waitFor();
    await second.locator(".said.wait", { hasText: "knot" }).waitFor();
    await first.close();
    world.network.set("pass");
    await shows(second, 2, "knot", 30_000);
    assert.deepEqual(await textsOf(world, session), ["say 2 of knot"]);
  },

  async unsent_messages_wait_for_their_own_user(world) {
    await world.ask("POST", "/users", { ...MEMBER, role: "member" });
    const session = await world.session("not yours");
    const first = await world.page();
    await open(first, world, session);
    world.network.set("reset");
    await say(first, "say 2 of snipe");
    await first.getByText("will be sent when the server is back.").waitFor();
    await first.close();
    world.network.set("pass");
    const context = first.context();
    await context.clearCookies();
    const asked = [];
    context.on("request", (request) => asked.push(`${request.method()} ${request.url()}`));
    const other = await context.newPage();
    await other.goto(world.origin);
    await world.signIn(other, MEMBER);
    await other.getByRole("navigation", { name: "Sessions" }).waitFor();
    // The member's own message goes out, so that everything that waited had its chance.
    await other.getByRole("button", { name: "New session" }).first().click();
    await say(fieldOf(other), "say 2 of ruff");
    await shows(other, 2, "ruff", 30_000);
    assert.deepEqual(
      asked.filter((line) => line.includes(session)),
      [],
      "nothing of the owner's is asked for",
    );
    await other.close();
    await context.clearCookies();
    const back = await context.newPage();
    await back.goto(world.origin);
    await world.signIn(back);
    await until(
      "the owner's message is kept",
      async () => (await textsOf(world, session)).length === 1,
      30_000,
    );
    await back.close();
  },

  async storage_that_cannot_be_read(world) {
    const session = await world.session("half written");
    const values = {
      "outbox:half": '{"key":"half","sess',
      "outbox:null": "null",
      "outbox:other": '{"key":1}',
      [`files:${session}`]: "[{",
      "new:half": "{",
      me: "[",
      shown: "7",
    };
    const prepare = (context) =>
      context.addInitScript((values) => {
        for (const [name, text] of Object.entries(values)) localStorage.setItem(name, text);
      }, values);
    const page = await world.page({ prepare });
    await open(page, world, session);
    await say(page, "say 2 of dotterel");
    await shows(page, 2, "dotterel");
    const aside = await page.evaluate(() =>
      Object.entries(localStorage).filter(([name]) => /^broken:outbox:.+:half$/.test(name)),
    );
    assert.deepEqual(
      aside.map(([, text]) => text),
      [values["outbox:half"]],
    );
  },

  async storage_that_is_denied(world) {
    const session = await world.session("denied");
    const prepare = (context) =>
      context.addInitScript(() => {
        const denied = () => {
          throw new DOMException("The browser keeps nothing.", "SecurityError");
        };
        for (const name of ["localStorage", "sessionStorage", "indexedDB"])
          Object.defineProperty(window, name, { get: denied });
        delete Navigator.prototype.locks;
      });
    const page = await world.page({ prepare });
    await open(page, world, session);
    page.typed.clear();
    await field(page).fill("say 2 of whimbrel");
    await field(page).press("Enter");
    await shows(page, 2, "whimbrel");
  },

  async a_session_that_fails_holds_up_no_other(world) {
    const [failing, healthy] = [await world.session("failing"), await world.session("healthy")];
    const page = await world.page();
    await open(page, world, failing);
    await page.route(`**/sessions/${failing}/messages`, (route) =>
      route.fulfill({
        status: 500,
        contentType: "application/json",
        body: '{"code":"internal","detail":"Broken."}',
      }),
    );
    await say(page, "say 2 of avocet");
    await page.getByText("Not sent yet: something went wrong on the server.").waitFor();
    await open(page, world, healthy);
    await say(page, "say 2 of plover");
    await shows(page, 2, "plover");
    await open(page, world, failing);
    await page.getByText("Not sent yet: something went wrong on the server.").waitFor();
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    await until("it is back", async () => (await field(page).inputValue()) === "say 2 of avocet");
    await page.unrouteAll();
    await field(page).press("Enter");
    await shows(page, 2, "avocet");
    assert.deepEqual(await textsOf(world, failing), ["say 2 of avocet"]);
  },

  async a_long_message_over_a_slow_network(world) {
    const session = await world.session("slow");
    const page = await world.page();
    await open(page, world, session);
    const network = await page.context().newCDPSession(page);
    const speed = { offline: false, latency: 20, downloadThroughput: -1, uploadThroughput: 32 * 1_024 };
    await network.send("Network.emulateNetworkConditions", speed);
    const text = `say 2 of godwit ${"#".repeat(400_000)}`;
    await field(page).fill(text);
    await field(page).press("Enter");
    await until("it is kept", async () => (await turnsOf(world, session)).length === 1, 60_000);
    assert.equal((await turnsOf(world, session))[0].message.text.length, text.length);
  },

  async wakes_up_at_once(world) {
    const session = await world.session("asleep");
    const page = await world.page();
    await open(page, world, session);
    await say(page, "say 2 of teal");
    await shows(page, 2, "teal");
    // The connection is dead, but the browser reports no error.
    world.network.set("hole");
    world.network.set("pass");
    await world.ask("POST", `/sessions/${session}/messages`, { text: "say 2 of garganey" });
    await pause(1_000);
    const begun = performance.now();
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await shows(page, 2, "garganey");
    const took = performance.now() - begun;
    assert.ok(took < 6_000, `${took} ms; the silence alone would have taken 15 s`);
  },

  async entries_of_a_newer_server(world) {
    const [odd, other] = [await world.session("odd"), await world.session("other")];
    const page = await world.page();
    await page.routeWebSocket(/\/api\/v1\/live/, (near) => {
      const far = near.connectToServer();
      far.onMessage((text) => {
        const told = JSON.parse(text);
        for (const entry of told.entries?.session === odd ? told.entries.entries : []) {
          if (entry.event.step_started !== undefined) entry.event = "zz_unit";
          if (entry.event.usage_reported !== undefined) entry.event = { zz_new: { of: "a later version" } };
          if (entry.event.run_ended !== undefined) entry.event.run_ended.end = "zz_end";
        }
        near.send(JSON.stringify(told));
      });
    });
    await open(page, world, odd);
    await say(page, "say 3 of curlew");
    await shows(page, 3, "curlew");
    await until("it ended", async () => (await page.locator("article.running").count()) === 0);
    await open(page, world, other);
    await say(page, "say 3 of shank");
    await shows(page, 3, "shank");
  },

  async a_server_of_another_shape(world) {
    const session = await world.session("shape");
    const page = await world.page();
    await page.routeWebSocket(/\/api\/v1\/live/, (near) => {
      const far = near.connectToServer();
      far.onMessage((text) => {
        const told = JSON.parse(text);
        if (told.hello !== undefined) told.hello.shape += 1;
        if (told.snapshot !== undefined) told.snapshot.state = { turns: "of another shape" };
        near.send(JSON.stringify(told));
      });
    });
    await open(page, world, session);
    await page.locator(".strip", { hasText: "The server was updated" }).waitFor();
    await field(page).fill("a draft about phalaropes");
    assert.equal(await field(page).inputValue(), "a draft about phalaropes");
  },
};

/** A page whose typed texts belong to somebody else. */
function fieldOf(page) {
  return { typed: new Set(), getByRole: page.getByRole.bind(page) };
}
