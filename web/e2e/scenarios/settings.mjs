// What is set is used: models, what projects begin with, what Enter does, how the pages look and speak.

import assert from "node:assert/strict";

import { answerOf, open, say, until } from "../world.mjs";
import { shows, stopButton } from "./look.mjs";

const models = (page) => page.getByRole("list", { name: "Models" }).getByRole("listitem");

async function fillModel(page, name, port, model) {
  await page.getByRole("button", { name: "Add model" }).click();
  const form = page.locator("form.form");
  const text = (label) => form.getByRole("textbox", { name: label });
  await form.getByRole("combobox", { name: /^Provider/ }).selectOption("openai");
  await text(/^Base URL/).fill(`http://127.0.0.1:${port}/v1`);
  await form.getByLabel("API key").fill("a-key-that-is-never-shown");
  await form.getByRole("combobox", { name: /^Model/ }).fill(model);
  await text(/^Name/).fill(name);
  await page.getByRole("button", { name: "Save" }).click();
}

async function addModel(page, name, port, model) {
  await fillModel(page, name, port, model);
  await models(page).filter({ hasText: name }).waitFor();
}

export const settings = {
  async a_model_is_added_and_used(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/models`);
    await addModel(page, "second", world.modelPort, "scripted");
    const row = models(page).filter({ hasText: "second" });
    await row.getByText("API key saved").waitFor();
    await row.getByRole("button", { name: "Test second" }).click();
    await row.locator(".good").waitFor({ timeout: 30_000 });
    await row.getByRole("button", { name: "Edit second" }).click();
    await page.getByText("API key saved.").waitFor();
    assert.ok(!(await page.content()).includes("a-key-that-is-never-shown"));
    await page.getByRole("button", { name: "Cancel" }).click();
    // One that is from the file can be looked at only.
    const file = models(page).filter({ hasText: "set in the configuration file" }).first();
    assert.equal(await file.getByRole("button", { name: /^(Edit|Remove)/ }).count(), 0);

    const session = await world.session("Asked of another");
    await open(page, world, session);
    await page.getByRole("combobox", { name: "Model" }).selectOption("second");
    await say(page, "say 3 of avocet");
    await shows(page, 3, "avocet");
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    assert.equal(turns[0].message.model, "second");

    await page.goto(`${world.origin}/settings/models`);
    await row.getByRole("button", { name: "Make default: second" }).click();
    await models(page).first().filter({ hasText: "second" }).waitFor();
    await row.getByRole("button", { name: "Remove second" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove", exact: true }).click();
    await until("it is gone", async () => (await row.count()) === 0);
    await models(page).first().filter({ hasText: "scripted" }).waitFor();
  },

  async a_new_model_replaces_no_other(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/models`);
    await addModel(page, "third", world.modelPort, "scripted");
    await fillModel(page, "third", 1, "nothing");
    await page.getByRole("alert").filter({ hasText: "A model named third already exists" }).waitFor();
    const { models: kept } = await world.ask("GET", "/models");
    assert.equal(kept.find(({ name }) => name === "third").model, "scripted");
    await world.ask("DELETE", "/models/third");
  },

  async options_of_a_model(world) {
    const url = `http://127.0.0.1:${world.modelPort}/v1`;
    const headers = { "x-team": "birds", "x-token": "a-header-that-is-never-shown" };
    const body = { provider: "openai", url, model: "scripted", options: { headers, input_price: 2.5 } };
    await world.ask("PUT", "/models/fourth", body);
    const kept = async () => {
      const { models } = await world.ask("GET", "/models");
      return models.find(({ name }) => name === "fourth").options;
    };
    const page = await world.page();
    await page.goto(`${world.origin}/settings/models`);
    const change = () => page.getByRole("button", { name: "Edit fourth" }).click();
    const save = () => page.getByRole("button", { name: "Save", exact: true }).click();
    const saved = () => page.getByRole("button", { name: "Edit fourth" }).waitFor();
    const text = (label) => page.getByRole("textbox", { name: label });

    await change();
    assert.equal(await text(/^Headers/).inputValue(), "x-team: ••••\nx-token: ••••");
    await save();
    await saved();
    assert.deepEqual(await kept(), { headers: { "x-team": null, "x-token": null }, input_price: 2.5 });

    await change();
    await text(/^Headers/).fill("x-token: ••••\nx-new");
    await text(/^Request fields/).fill('{"temperature": 0.2, "user": null}');
    await page.getByText("Advanced", { exact: true }).click();
    await save();
    await page.getByRole("alert").filter({ hasText: "Line 2 of the headers has no colon" }).waitFor();
    await until("the field is shown", () => text(/^Headers/).evaluate((it) => it === document.activeElement));
    await text(/^Headers/).fill("x-token: ••••\nx-new: 1");
    await text(/^Proxy/).fill("ftp://proxy.example");
    await save();
    await page.getByRole("alert").filter({ hasText: "The proxy must be an http or https URL" }).waitFor();
    await text(/^Proxy/).fill("");
    await save();
    await saved();
    const fields = { temperature: 0.2, user: null };
    assert.deepEqual(await kept(), { headers: { "x-new": null, "x-token": null }, fields, input_price: 2.5 });
    assert.ok(!(await page.content()).includes(headers["x-token"]));
    await world.ask("DELETE", "/models/fourth");
  },

  async a_model_that_does_not_answer(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/models`);
    await addModel(page, "nowhere", 1, "nothing");
    const row = models(page).filter({ hasText: "nowhere" });
    await row.getByRole("button", { name: "Test nowhere" }).click();
    await row.locator(".err").waitFor({ timeout: 30_000 });
    await world.ask("DELETE", "/models/nowhere");
  },

  async a_project_has_its_model(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/projects`);
    await page.getByLabel("Project name").fill("Marsh");
    await page.getByRole("button", { name: "Create project" }).click();
    const form = page.getByRole("form", { name: "Marsh" });
    await form.getByLabel("Model").selectOption("reciting");
    await form.getByLabel("Instructions").fill("Speak of herons only.");
    await form.getByRole("button", { name: "Save" }).click();
    await form.getByText("Saved.").waitFor();
    await page.reload();
    assert.equal(await form.getByLabel("Instructions").inputValue(), "Speak of herons only.");

    const { projects } = await world.ask("GET", "/projects");
    const { project } = projects.find(({ name }) => name === "Marsh");
    const session = await world.session("In the marsh");
    await world.ask("PATCH", `/sessions/${session}`, { project });
    await open(page, world, session);
    // The reciting model says this to whatever is no recitation.
    await say(page, "say 3 of curlew");
    await until("the project's model answers", async () => (await answerOf(page)).includes("Herons"));
  },

  async enter_does_what_is_preferred(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/conversation`);
    await page.getByRole("radio", { name: /^Interrupt/ }).click();
    await until("it is kept", async () => (await world.ask("GET", "/me/preferences")).busy === "interrupt");
    try {
      const session = await world.session("Interrupted");
      await open(page, world, session);
      await say(page, "say 3000 of godwit pace 15");
      await shows(page, 5, "godwit");
      await page.getByRole("radio", { name: "Interrupt", checked: true }).waitFor();
      await say(page, "say 3 of ruff");
      await shows(page, 3, "ruff");
      await page.locator("[data-marker=stopped]", { hasText: "Stopped for your next message." }).waitFor();
    } finally {
      await world.prefer({});
    }
  },

  async letters_can_be_turned_off(world) {
    const session = await world.session("Letters");
    const page = await world.page();
    await page.goto(`${world.origin}/settings/conversation`);
    await page.getByRole("switch", { name: "Single-letter shortcuts" }).uncheck();
    await open(page, world, session);
    await say(page, "say 3 of siskin");
    await shows(page, 3, "siskin");
    await until("it rests", async () => (await stopButton(page).count()) === 0);
    await page.getByRole("region", { name: "Conversation" }).focus();
    await page.keyboard.press("k");
    assert.equal(await page.evaluate(() => document.activeElement?.localName), "div", "K goes nowhere");
  },

  async looks_and_language(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/appearance`);
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await paper();
    await page.getByRole("radio", { name: "Dark" }).check();
    assert.notEqual(await paper(), light);
    const size = () => page.evaluate(() => getComputedStyle(document.documentElement).fontSize);
    const normal = await size();
    await page.getByRole("radio", { name: "Largest" }).check();
    assert.notEqual(await size(), normal);
    await page.reload();
    await page.getByRole("radio", { name: "Dark", checked: true }).waitFor();
    assert.notEqual(await paper(), light, "it is remembered");
    try {
      await page.getByRole("radio", { name: "Deutsch" }).click();
      await page.locator("html[lang=de]").waitFor();
      await page.getByRole("heading", { name: "Einstellungen" }).waitFor();
      assert.equal((await world.ask("GET", "/me/preferences")).language, "de");
      await page.getByRole("radio", { name: "English" }).click();
      await page.locator("html[lang=en]").waitFor();
      await page.getByRole("heading", { name: "Settings" }).waitFor();
    } finally {
      await world.prefer({});
    }
  },

  async after_a_crash_and_data(world) {
    const page = await world.page();
    await page.goto(`${world.origin}/settings/conversation`);
    await page.getByRole("radio", { name: /^Wait/ }).click();
    await until(
      "it is kept",
      async () => (await world.ask("GET", "/settings")).after_interruption === "wait",
    );
    try {
      const session = await world.session("It waits");
      await open(page, world, session);
      await say(page, "say 200 of dipper pace 15");
      await shows(page, 10, "dipper");
      await world.kill();
      await world.serve();
      await page
        .locator("[data-marker=interrupted]")
        .getByRole("button", { name: "Continue" })
        .click({ timeout: 30_000 });
      await shows(page, 200, "dipper", 30_000);
    } finally {
      await world.ask("PATCH", "/settings", { after_interruption: "continue" });
    }
    await page.goto(`${world.origin}/settings/data`);
    await page.getByLabel("Folder on the server").fill(`${world.home}/backup-${Date.now()}`);
    await page.getByRole("button", { name: "Back up now" }).click();
    const tasks = page.getByRole("list", { name: "Recent jobs" }).getByRole("listitem");
    await tasks
      .filter({ hasText: "Backup" })
      .and(page.locator("[data-state=done]"))
      .waitFor({ timeout: 60_000 });
    await page.getByText(/Last backup: /).waitFor();
    await page.getByRole("button", { name: "Verify now" }).click();
    await tasks
      .filter({ hasText: "Verification" })
      .and(page.locator("[data-state=done]"))
      .waitFor({ timeout: 60_000 });
  },
};
