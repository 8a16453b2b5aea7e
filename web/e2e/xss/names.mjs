// Names that people, programs and servers give to things, in every place where the pages show them: tags, projects, models,
// people, tokens, devices, and the audit trail that tells of all of them.

import { until } from "../world.mjs";
import { hooked } from "../world/hook.mjs";

/** Names are short; this is what a tag may have. */
const NAME_MAX = 40;
/** Strangers of a platform that can wait at a time. */
const WAITING = 3;
/** A session has so many tags. */
const NAMES = 18;

/** The first of so many kinds of strings that fit into a name, one of each beginning. */
function namesFrom(texts, plain, full) {
  const short = texts.map(plain).filter((text) => text.length <= NAME_MAX && /^[\x20-\x7e]+$/.test(text));
  // Some places know small letters only.
  const unlike = [...new Map(short.map((text) => [text.toLowerCase(), text])).values()];
  const each = full ? 1 : Math.floor(unlike.length / NAMES);
  return unlike.filter((_, at) => at % each === 0);
}

export function namingScenes(stage) {
  const { world, texts, plain, full, onBoth, go, goTo, put, post, textsOf } = stage;
  const names = namesFrom(texts, plain, full);
  const labelsOf = (page, selector) =>
    page.evaluate(
      (selector) =>
        [...document.querySelectorAll(selector)].map((node) => node.getAttribute("aria-label")).join("\n"),
      selector,
    );
  /** The words of options, which have other values. */
  const optionsOf = (page, selector) => page.locator(`${selector} option`).allTextContents();
  const shows = (page, selector, strings) =>
    until(`${selector} shows them`, async () => {
      const shown = await textsOf(page, selector);
      return strings.every((text) => shown.includes(text));
    });
  const button = (page, name) => page.getByRole("button", { name, exact: true });
  const leave = (page) => page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  const row = (page, session) => page.locator(`nav [data-session="${session}"]`);
  const chooseInMenu = async (page, session, word) => {
    const item = page.getByRole("menuitem", { name: word, exact: true });
    // A list that changes meanwhile closes the menu.
    await until("the menu is open", async () => {
      await row(page, session).getByRole("link").click({ button: "right", timeout: 5_000 });
      return item.waitFor({ timeout: 5_000 }).then(
        () => true,
        () => false,
      );
    });
    await item.click();
    await page.locator(".ask").waitFor();
  };
  /** Reads what is told a page at a time to its end. */
  const readAll = async (page) => {
    const earlier = button(page, "Show earlier");
    await until("all of it is read", async () => {
      if ((await earlier.count()) === 0) return true;
      await earlier.click({ timeout: 500 }).catch(() => undefined);
      return false;
    });
  };

  return {
    async tags() {
      const tags = names.slice(0, NAMES).map((name) => name.toLowerCase());
      const session = await world.session("tagged");
      await world.ask("PATCH", `/sessions/${session}`, { tags });
      await onBoth(async (page) => {
        await go(page, session);
        await page.locator(".chips .chip.all").click();
        await shows(page, ".chips .chip", tags);
        put("tag", tags, await textsOf(page, ".chips .chip"));
        await chooseInMenu(page, session, "Tags");
        put("tag_choice", tags, await textsOf(page, ".ask .option"));
        put("tag_suggestion", tags, await textsOf(page, ".ask datalist option"));
        await leave(page);
        await page.getByRole("searchbox").fill("tagged");
        await page.locator(".filters summary").click();
        put("tag_filter", tags, (await optionsOf(page, ".filters")).join("\n"));
        await page.getByRole("searchbox").fill("");
      });
    },

    async projects() {
      for (const name of names) await world.ask("POST", "/projects", { name });
      const session = await world.session("placed");
      await onBoth(async (page) => {
        await page.goto(`${world.origin}/s/${session}`);
        const fold = page.locator(".projects .fold");
        await fold.waitFor();
        if ((await fold.getAttribute("aria-expanded")) === "false") await fold.click();
        await shows(page, ".proj", names);
        put("project", names, await textsOf(page, ".proj"));
        await chooseInMenu(page, session, "Move to project");
        put("project_choice", names, await textsOf(page, ".ask .option"));
        await leave(page);
        await page.getByRole("searchbox").fill("placed");
        await page.locator(".filters summary").click();
        put("project_filter", names, (await optionsOf(page, ".filters")).join("\n"));
        await page.getByRole("searchbox").fill("");
        for (const name of names.slice(0, full ? names.length : 3)) await projectQuestions(page, name);
        await goTo(page, "/settings/projects");
        await shows(page, ".rows h3", names);
        put("project_settings", names, await textsOf(page, ".rows h3"));
      });
    },

    async models() {
      for (const name of names) {
        const body = { provider: "openai", url: `http://127.0.0.1:${world.modelPort}/v1`, model: name };
        await world.ask("PUT", `/models/${encodeURIComponent(name)}`, body);
      }
      const session = await world.session("modelled");
      await onBoth(async (page) => {
        await page.goto(`${world.origin}/s/${session}`);
        const choice = page.locator("select.choice");
        await choice.waitFor();
        put("model_choice", names, (await choice.locator("option").allTextContents()).join("\n"));
        await goTo(page, "/settings/projects");
        await page.locator(".rows form select").first().waitFor();
        put("model_of_project", names, (await optionsOf(page, ".rows form")).join("\n"));
        await goTo(page, "/settings/models");
        await shows(page, ".rows h3", names);
        put("model", names, await textsOf(page, ".rows h3"));
        put("model_of_provider", names, await textsOf(page, ".rows .what p"));
        for (const name of names.slice(0, full ? names.length : 3)) {
          await button(page, `Remove ${name}`).click();
          put("model_question", [name], await textsOf(page, ".ask h2"));
          await leave(page);
          await button(page, `Edit ${name}`).click();
          put("model_form", [name], await textsOf(page, ".rows form input"));
          await button(page, "Cancel").click();
        }
      });
      for (const name of names) await world.ask("DELETE", `/models/${encodeURIComponent(name)}`);
    },

    async people() {
      for (const name of names) await world.ask("POST", "/users", { name, role: "member" });
      await onBoth(async (page) => {
        await goTo(page, "/settings/people");
        await shows(page, ".rows h3", names);
        put("person", names, await textsOf(page, ".rows h3"));
        put("person_label", names, await labelsOf(page, ".rows [role=group]"));
        for (const name of names.slice(0, full ? names.length : 3)) {
          await page
            .getByRole("group", { name, exact: true })
            .getByRole("button", { name: "Disable" })
            .click();
          put("person_question", [name], await textsOf(page, ".ask h2"));
          await leave(page);
        }
      });
    },

    /** A program's token is the device that its messages come from. */
    async tokens() {
      const session = await world.session("from programs");
      await onBoth((page) => go(page, session));
      const stopping = await made(names[0]);
      for (const name of names) {
        const token = name === names[0] ? stopping : await made(name);
        await asProgram(token, `/sessions/${session}/messages`, { text: "recite by 64\nfrom elsewhere" });
      }
      await onBoth(async (page) => {
        await shows(page, "article[data-turn] .who", names.slice(-1));
        await until("all are there", () => seenOnTheWay(page, names));
        put("from_device", names, await seenOnTheWay(page, names));
      });
      await stoppedByPrograms(names.slice(0, full ? names.length : 4));
      await onBoth(async (page) => {
        await goTo(page, `/s/${session}/timeline`);
        await shows(page, ".log p", names.slice(-1));
        await readAll(page);
        await shows(page, ".log p", names);
        put("timeline_device", names, await textsOf(page, ".log p"));
        await goTo(page, "/settings/access");
        await shows(page, "ul[aria-label='API tokens'] b", names);
        put("token", names, await textsOf(page, "ul[aria-label='API tokens'] b"));
        for (const name of names.slice(0, full ? names.length : 3)) {
          await button(page, `Revoke ${name}`).first().click();
          put("token_question", [name], await textsOf(page, ".ask h2"));
          await leave(page);
        }
        const [name] = names;
        await page.getByLabel("Token name").fill(name);
        await button(page, "Create token").click();
        await page.locator(".secret").waitFor();
        put("token_secret", [name], await labelsOf(page, ".secret"));
      });
    },

    /** A browser says of itself what it likes. */
    async devices() {
      const some = names.slice(0, full ? names.length : 6);
      for (const name of some) await world.login({ "user-agent": name });
      const refused = names.slice(-2);
      for (const name of refused) await world.login({}, { name, password: "not theirs at all" });
      await onBoth(async (page) => {
        await goTo(page, "/settings/people");
        await page.getByRole("heading", { name: "Audit log" }).waitFor();
        await goTo(page, "/settings/access");
        const logins = 'ul[aria-label="Signed-in devices"] b';
        await shows(page, logins, some);
        put("login", some, await textsOf(page, logins));
      });
    },

    /** In chats everybody is called what they like: who is let in, and who is not yet. */
    async chats() {
      await hooked(world, async (hook) => {
        await spoken(hook);
        await waitingToBeLetIn(hook, names.slice(0, WAITING));
      });
    },

    async audit() {
      await onBoth(async (page) => {
        await goTo(page, "/settings/people");
        await shows(page, ".trail li", names.slice(-1));
        await readAll(page);
        const told = await textsOf(page, ".trail li");
        const tells = (place, word, some) =>
          put(
            place,
            some.map((name) => `${word} ${name}`),
            told,
          );
        tells("audit_person", "User added:", names);
        tells("audit_token", "API token created:", names);
        tells("audit_model", "Model removed:", names);
        tells("audit_login", "Signed in with", names.slice(0, 6));
        tells("audit_refused", "Failed sign-in as", names.slice(-2));
        await page.goto(world.origin);
      });
    },
  };

  /** What people who are let in are called. */
  async function spoken(hook) {
    for (const [at, name] of names.entries()) {
      const sender = { id: "robin", name };
      await hook.post(world.origin, { event: `spoken ${at}`, sender, text: "recite by 64\nfrom a chat" });
    }
    await until("all are answered", () => hook.texts.length === names.length, 60_000);
    const { sessions } = await world.ask("GET", "/sessions?count=1");
    const [{ session }] = sessions;
    await onBoth(async (page) => {
      await page.goto(`${world.origin}/s/${session}`);
      await until("all are there", () => seenOnTheWay(page, names));
      put("from_chat", names, await seenOnTheWay(page, names));
      await goTo(page, `/s/${session}/timeline`);
      await shows(page, ".log p", names.slice(-1));
      await readAll(page);
      await shows(page, ".log p", names);
      put("timeline_chat", names, await textsOf(page, ".log p"));
    });
  }

  /** What strangers are called, before they are let in and after. */
  async function waitingToBeLetIn(hook, some) {
    for (const [at, name] of some.entries()) {
      const sender = { id: `${at} ${name}`, name };
      await hook.post(world.origin, { event: `stranger ${at}`, sender, text: "hello" });
    }
    const codes = await until("all have a code", () => hook.codes.length === some.length && hook.codes);
    const listed = (page, name) => textsOf(page, `ul[aria-label="${name}"] .what`);
    await onBoth(async (page) => {
      await page.goto(`${world.origin}/settings/messaging`);
      await shows(page, "ul[aria-label='Pending requests'] .what", some);
      put("stranger", some, await listed(page, "Pending requests"));
    });
    for (const code of codes) await world.ask("POST", "/gateway/approve", { code });
    await onBoth(async (page) => {
      await page.goto(`${world.origin}/settings/messaging`);
      await shows(page, "ul[aria-label='Approved senders'] .what", some);
      put("peer", some, await listed(page, "Approved senders"));
      for (const name of some) {
        await button(page, `Remove ${name}`).click();
        put("peer_question", [name], await textsOf(page, ".ask h2"));
        await leave(page);
      }
    });
  }

  async function projectQuestions(page, name) {
    const choose = async (word) => {
      await page
        .locator(".projects .slot")
        .filter({ has: page.getByText(name, { exact: true }) })
        .locator(".proj")
        .click({ button: "right" });
      await page.locator(".menu").waitFor();
      put("project_menu", [name], await labelsOf(page, ".menu"));
      await page.getByRole("menuitem", { name: word }).click();
      await page.locator(".ask").waitFor();
    };
    await choose("Rename project");
    put("project_rename", [name], await textsOf(page, ".ask input"));
    await leave(page);
    await choose("Delete project");
    put("project_question", [name], await textsOf(page, ".ask h2"));
    await leave(page);
  }

  async function made(name) {
    return (await world.ask("POST", "/tokens", { name, scope: "write" })).token;
  }

  function asProgram(token, path, body) {
    return world.ask("POST", path, body, { authorization: `Bearer ${token}` });
  }

  /** Turns that are far away are not drawn: goes by all of them. */
  async function seenOnTheWay(page, names) {
    const seen = await page.evaluate(async () => {
      const seen = new Set();
      const area = document.querySelector(".thread");
      for (let top = 0; top <= area.scrollHeight; top += 300) {
        area.scrollTo({ top });
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20)));
        for (const who of document.querySelectorAll("article[data-turn] .who")) seen.add(who.textContent);
      }
      return [...seen].join("\n");
    });
    return names.every((name) => seen.includes(name)) && seen;
  }

  async function stoppedByPrograms(some) {
    for (const name of some) {
      const session = await world.session("stopped");
      await onBoth((page) => go(page, session));
      await post(session, `recite pace 200\n${"A long story. ".repeat(400)}`);
      await onBoth((page) => page.locator(".parts.live").waitFor());
      const { run } = await world.ask("GET", `/sessions/${session}`);
      await asProgram(await made(name), `/sessions/${session}/stop`, { run });
      await onBoth(async (page) => {
        const marker = "[data-marker=stopped]";
        await page.locator(marker).waitFor();
        put("stopped_on_device", [name], await textsOf(page, marker));
      });
    }
  }
}
