// `just xss [--full] [SCENE…]`: text that wants to be more than text, in every place where text is shown, in a real browser against
// the released binary. One page has the policy that the server sends; in the other it is switched off, so that what the
// pages do is enough without it. One line a figure, the verdict last.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { marked, Lexer } from "marked";

import { hostile } from "./hostile.mjs";
import { Report } from "./report.mjs";
import { World, field, say, until } from "./world.mjs";
import { namingScenes } from "./xss/names.mjs";
import { readingScenes } from "./xss/readings.mjs";

const full = process.argv.includes("--full");
/** Scenes that are asked for by name: only a run of all of them is counted. */
const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"));
/** A message takes 32 files; one of them is the text that a tool reads. */
const BATCH = 30;
/** What a title and the words of a provider's error may have. */
const SHORT_TEXT_MAX = 480;
/** Every so many strings also stand alone. */
const ALONE = full ? 1 : 30;
/** Every so many are shown to a page that believes them. */
const BELIEVED = full ? 1 : 9;

/** What the pages of one context were seen doing. */
class Watch {
  seen = {
    executed: [],
    remote_loads: [],
    policy_reports: [],
    handlers: [],
    elements: [],
    hrefs: [],
    openers: [],
  };

  constructor(world) {
    this.origin = world.origin;
  }

  prepare = async (context) => {
    await context.exposeBinding("tellCanary", (_, kind, what) => this.seen[kind].push(what));
    await context.addInitScript(readFileSync(join(import.meta.dirname, "canary.js"), "utf8"));
    context.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.origin) && !/^(blob|data|ws|about):/.test(url))
        this.seen.remote_loads.push(url);
    });
    context.on("dialog", (dialog) => {
      this.seen.executed.push(dialog.message());
      void dialog.dismiss();
    });
    context.on("console", (line) => {
      if (/Content Security Policy|TrustedHTML|TrustedScript/.test(line.text()))
        this.seen.policy_reports.push(line.text());
    });
  };
}

const texts = hostile.map(({ text }) => text);
/** For places that show the same plain words as others do. */
const some = texts.filter((_, at) => full || at % 2 === 0);
const tagOf = ({ number }) => `w${number}w`;
const inOneLine = (text) => text.replace(/[\n\r\f\u2028]+/g, " ");
/** Without what a title, a tab or an error does not keep. */
const plain = (text) => text.replace(/[\s\p{Cc}]+/gu, " ").trim();

/** A provider's words as the server shows them: without characters that reverse the direction of text. */
const undirected = (text) => text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, " ");

/** Strings that take what follows them with them, whatever stands between. */
function reachesOn({ text }) {
  const last = Lexer.lex(`${text}\n\nend`, { gfm: true }).at(-1);
  return last?.type !== "paragraph" || last.raw !== "end";
}

/** Each string apart from the others; one that would take the others with it is the last of its batch. */
function batched() {
  const [greedy, modest] = [hostile.filter(reachesOn), hostile.filter((one) => !reachesOn(one))];
  const count = Math.max(greedy.length, Math.ceil(modest.length / (BATCH - 1)));
  return Array.from({ length: count }, (_, at) => [
    ...modest.filter((_, place) => place % count === at),
    ...greedy.slice(at, at + 1),
  ]);
}

/** As many texts together as fit. */
function packed(texts, most) {
  const packs = [];
  for (const text of texts) {
    const last = packs.at(-1);
    if (last !== undefined && Buffer.byteLength(`${last} ${text}`) <= most)
      packs[packs.length - 1] += ` ${text}`;
    else packs.push(text);
  }
  return packs;
}

/** Places inside an answer where its reader puts text. */
const CONTEXTS = {
  code_language: (text) => `~~~${text.replaceAll("~", "")}\nx\n~~~`,
  link_text: (text) => `[${text}](https://canary.invalid/)`,
  link_name: (text) => `[x](https://canary.invalid/ "${text}")`,
  link_address: (text) => `[x](<https://canary.invalid/${text}>)`,
  picture_name: (text) => `![${text}](https://canary.invalid/x.png)`,
  heading: (text) => `## ${text}`,
  list: (text) => `- ${text}`,
  quote: (text) => `> ${text}`,
  table: (text) => `| x |\n| --- |\n| ${text.replaceAll("|", "\\|")} |`,
  stressed: (text) => `**${text}** _${text}_`,
  code: (text) => `\`${text}\``,
};

const report = new Report("xss");
const places = new Map();
const unseen = [];
const world = await World.make({ model: "reciting" });
const [guarded, bare] = [new Watch(world), new Watch(world)];

/** Notes what a place was given and what of it is not to be seen there. */
function put(place, strings, shown) {
  places.set(place, (places.get(place) ?? 0) + strings.length);
  const missing = strings.filter((text) => !shown.includes(text));
  if (missing.length > 0) unseen.push(`${place}: ${missing.length}, such as ${JSON.stringify(missing[0])}`);
}

const post = (session, text, more = {}) =>
  world.ask("POST", `/sessions/${session}/messages`, { text, ...more });

/** Goes to a place, or to a session, without loading the page anew. */
const goTo = (page, path) => page.evaluate((path) => history.pushState(null, "", path), path);
const go = (page, session) => goTo(page, `/s/${session}`);

const textsOf = (page, selector) =>
  page.evaluate(
    (selector) =>
      [...document.querySelectorAll(selector)]
        .map((node) => (node.matches("input, textarea, option") ? node.value : node.textContent))
        .join("\n"),
    selector,
  );

const TURN = "article[data-turn]";

/** Waits until a text is shown and nothing is being written any more. */
async function over(page, text, selector = `${TURN} .parts .prose`) {
  const look = ([selector, text]) => {
    const shown = [...document.querySelectorAll(selector)].map((node) => node.textContent).join(" ");
    const same = (text) => text.replace(/[\s\p{Cc}]+/gu, " ");
    return document.querySelector(".parts.live") === null && same(shown).includes(same(text).trim());
  };
  await page.waitForFunction(look, [selector, text], { polling: 50, timeout: 20_000 });
}

// The worker of the pages would fetch what is put in their place below.
const serviceWorkers = "block";
const pages = await Promise.all([
  world.page({ prepare: guarded.prepare, serviceWorkers }),
  world.page({ prepare: bare.prepare, bypassCSP: true, serviceWorkers }),
]);
for (const page of pages) page.setDefaultTimeout(20_000);
const onBoth = (look) => Promise.all(pages.map(look));

async function fileOf(name, content) {
  const response = await fetch(`http://127.0.0.1:${world.port}/api/v1/attachments`, {
    method: "POST",
    headers: { authorization: `Bearer ${world.token}` },
    body: content,
  });
  const { blob, size_bytes } = await response.json();
  return { name, media_type: "text/html", blob, size_bytes };
}

const scenes = {
  /** One turn has them as message, file names, reasoning, arguments and result of a tool, and answer. */
  async turns() {
    const exported = [];
    const files = await Promise.all(Array.from({ length: BATCH }, (_, at) => fileOf("", `file ${at}`)));
    for (const batch of batched()) {
      const strings = batch.map(({ text }) => text);
      const body = batch.map((one) => `${tagOf(one)}\n\n${one.text}`).join("\n\n");
      const session = await world.session("turns");
      await onBoth((page) => go(page, session));
      const notes = await fileOf("notes.txt", body);
      const attachments = [notes, ...batch.map(({ text }, at) => ({ ...files[at], name: text }))];
      await post(session, `recite think by 48 file notes.txt\n${body}`, { attachments });
      await onBoth(async (page) => {
        await over(page, tagOf(batch.at(-1)));
        await page.evaluate(() => {
          for (const row of document.querySelectorAll(".row[aria-expanded=false]")) row.click();
        });
        put("message", strings, await textsOf(page, `${TURN} .said .words`));
        put("file_name", strings, await textsOf(page, `${TURN} .said .file`));
        put("reasoning", strings, await textsOf(page, `${TURN} .parts .open .words`));
        put("answer", batch.map(tagOf), await textsOf(page, `${TURN} .parts .prose`));
        const outputs = await page.locator(`${TURN} .parts .open pre`).allTextContents();
        put("tool_arguments", batch.map(tagOf), outputs.at(0) ?? "");
        put("tool_result", strings, outputs.at(-1) ?? "");
      });
      exported.push(session);
    }
    await exports(full ? exported : exported.slice(-3));
  },

  /** Each alone: nothing before it that could have taken its edge off. */
  async alone() {
    const session = await world.session("alone");
    await onBoth((page) => go(page, session));
    for (const one of hostile.filter(({ number }) => number % ALONE === 0)) {
      await post(session, `recite by 3\n${one.text}\n\n${tagOf(one)}`);
      await onBoth(async (page) => {
        await over(page, tagOf(one));
        put("answer_alone", [tagOf(one)], await textsOf(page, `${TURN} .parts`));
      });
    }
  },

  async contexts() {
    const session = await world.session("contexts");
    await onBoth((page) => go(page, session));
    for (const [place, wrap] of Object.entries(CONTEXTS)) {
      const strings = hostile.filter((_, at) => full || at % 3 === 0);
      const body = strings.map((one) => `${tagOf(one)}\n\n${wrap(inOneLine(one.text))}`).join("\n\n");
      await post(session, `recite by 512\n${body}\n\nthe end of ${place}`);
      await onBoth(async (page) => {
        await over(page, `the end of ${place}`);
        put(place, strings.map(tagOf), await textsOf(page, `${TURN} .parts .prose`));
      });
    }
  },

  /** A model may ask for a tool that does not exist, and its name is shown. */
  async tool_names() {
    const session = await world.session("tools");
    await onBoth((page) => go(page, session));
    for (const pack of packed(some, 2_000)) {
      await post(session, `recite by 2000 name\n${pack}`);
      await onBoth(async (page) => {
        await over(page, pack, `${TURN} .parts .row .mono`);
        put("tool_name", [plain(pack)], plain(await textsOf(page, `${TURN} .parts .row .mono`)));
      });
    }
  },

  async errors() {
    const session = await world.session("errors");
    await onBoth((page) => go(page, session));
    for (const pack of packed(some.map(inOneLine), SHORT_TEXT_MAX)) {
      await post(session, `recite refuse\n${pack}`);
      await onBoth(async (page) => {
        const marker = `${TURN} [data-marker=failed]`;
        await over(page, undirected(pack), marker);
        put("provider_error", [plain(undirected(pack))], plain(await textsOf(page, marker)));
      });
    }
  },

  async titles() {
    const session = await world.session("titles");
    await onBoth((page) => go(page, session));
    for (const pack of packed(some.map(inOneLine), SHORT_TEXT_MAX)) {
      await world.ask("PATCH", `/sessions/${session}`, { title: pack });
      await onBoth(async (page) => {
        const has = async (selector) => plain(await textsOf(page, selector)).includes(plain(pack));
        await until(
          "the title is shown",
          async () => (await has("header h1")) && (await has("nav .sess .t")),
        );
        put("title", [plain(pack)], plain(await textsOf(page, "header h1")));
        put("list", [plain(pack)], plain(await textsOf(page, "nav .sess .t")));
        put("tab", [plain(pack).slice(0, 20)], plain(await page.title()));
      });
    }
    await onBoth(async (page) => {
      await page.getByRole("button", { name: "Rename" }).click();
      const [last] = packed(some.map(inOneLine), SHORT_TEXT_MAX).slice(-1);
      put("rename", [plain(last)], plain(await textsOf(page, "header input")));
      await page.getByRole("textbox", { name: "Session name" }).press("Escape");
    });
  },

  async waiting() {
    const session = await world.session("waiting");
    await onBoth((page) => go(page, session));
    await post(session, `recite pace 300\n${"A long story. ".repeat(400)}`);
    await onBoth((page) => page.locator(".parts.live").waitFor());
    const packs = packed(texts, 500);
    for (const pack of packs) await post(session, pack);
    await onBoth(async (page) => {
      await until("all wait", async () => (await page.locator(".tray .q").count()) === packs.length);
      put("queue", packs, await textsOf(page, ".tray .q .clip"));
      await page.locator(".tray .q").first().getByRole("button", { name: "Edit" }).click();
      const edited = await textsOf(page, ".tray .q textarea");
      put("queue_edit", [plain(packs[0])], plain(edited));
    });
    const { queue, run } = await world.ask("GET", `/sessions/${session}`);
    await Promise.all(queue.map(({ turn }) => world.ask("DELETE", `/sessions/${session}/queue/${turn}`)));
    await world.ask("POST", `/sessions/${session}/stop`, { run });
  },

  async steered() {
    const session = await world.session("steered");
    await onBoth((page) => go(page, session));
    await post(session, `recite call pace 250\n${"slow ".repeat(12)}`);
    await onBoth((page) => page.locator(`${TURN} .trace`).waitFor());
    const packs = packed(texts, 4_000);
    await Promise.all(packs.map((pack) => post(session, pack, { mode: "steer" })));
    await onBoth(async (page) => {
      await until("all steered", async () => (await page.locator(".steered").count()) === packs.length);
      put("steered", packs, await textsOf(page, ".steered .words"));
    });
  },

  /** What is being written, and what was sent while nobody could take it. */
  async drafts() {
    const session = await world.session("drafts");
    await onBoth((page) => go(page, session));
    const all = texts.join("\n");
    await onBoth(async (page) => {
      await field(page).fill(all);
      await page.reload();
      await field(page).waitFor();
      put("draft", texts, (await field(page).inputValue()).replaceAll("\r\n", "\n"));
    });
    const batches = batched().slice(full ? 0 : -1);
    for (const batch of batches) await onBoth((page) => chips(page, batch));
    world.network.set("reset");
    await onBoth(async (page) => {
      await say(page, all);
      put("outbox", texts, await textsOf(page, ".said.wait .words"));
    });
    world.network.set("pass");
    await onBoth((page) =>
      until("it was sent", async () => (await page.locator(".said.wait").count()) === 0, 30_000),
    );
  },

  async addresses() {
    const paths = texts
      .filter((_, at) => full || at % 4 === 0)
      .map(
        (text) => `/s/${encodeURIComponent(text)}?${encodeURIComponent(text)}#${encodeURIComponent(text)}`,
      );
    await onBoth(async (page) => {
      const shown = await page.evaluate(async (paths) => {
        const shown = [];
        for (const path of paths) {
          history.pushState(null, "", path);
          await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
          shown.push(document.querySelector(".main h1")?.textContent === "Session not found" ? path : "");
        }
        return shown;
      }, paths);
      put("address", paths, shown.join(" "));
    });
  },

  /** What is looked for, and what was taken back, is said differently, or went into a branch. */
  async elsewhere() {
    const session = await world.session(inOneLine(packed(texts, SHORT_TEXT_MAX).at(-1)));
    await onBoth((page) => go(page, session));
    for (const { text } of hostile.filter(({ number }) => number % ALONE === ALONE - 1)) {
      const words = plain(`${text} nowhere`);
      await onBoth(async (page) => {
        await page.getByRole("searchbox").fill(words);
        await over(page, `No results for “${words}”`, "nav .none");
        put("search", [words], plain(await textsOf(page, "nav .none")));
      });
    }
    await onBoth((page) => page.getByRole("searchbox").fill(""));
    const all = texts.join("\n");
    await post(session, `recite by 4000\n${all}\n\nthe end`);
    await onBoth(async (page) => {
      await over(page, "the end");
      // By hand: it is far above the end, which is followed.
      await page.getByRole("button", { name: "Edit message" }).dispatchEvent("click");
      put("edit", texts, await textsOf(page, ".editing textarea"));
      await page.locator(".editing textarea").press("Escape");
    });
    const { turns } = await world.ask("GET", `/sessions/${session}`);
    const [{ turn }] = turns;
    const branch = await world.ask("POST", `/sessions/${session}/branch`, { turn });
    await world.ask("POST", `/sessions/${session}/undo`, { from: turn });
    await onBoth(async (page) => {
      await page.getByRole("button", { name: "History" }).click();
      await page.locator(".gone .words").first().waitFor();
      put("history", texts, await textsOf(page, ".gone .words"));
      await page.getByRole("button", { name: "Close" }).click();
      await go(page, branch.session);
      await page.locator(".origin").waitFor();
      put("branch", ["Branch of"], await textsOf(page, ".origin"));
    });
  },
};

/** Files that are chosen and not yet sent. A path in a name stays behind in the browser. */
async function chips(page, batch) {
  const names = batch.map(({ text }) => inOneLine(text).replace(/[\\/]/g, ":"));
  const files = names.map((name) => ({ name, mimeType: "image/svg+xml", buffer: Buffer.from(name) }));
  await page.locator("input[type=file]").setInputFiles(files);
  const chosen = page.locator(".files.in .file");
  await until("the files are there", async () => (await chosen.count()) === files.length);
  put("chosen_file", names, await textsOf(page, ".files.in .file"));
  await page.evaluate(() => {
    for (const button of document.querySelectorAll(".files.in button")) button.click();
  });
}

/** A page that the server made to be kept, opened as one. */
async function exports(sessions) {
  for (const session of sessions) {
    const response = await fetch(
      `http://127.0.0.1:${world.port}/api/v1/sessions/${session}/export?format=html`,
      {
        headers: { authorization: `Bearer ${world.token}` },
      },
    );
    const body = await response.text();
    await onBoth(async (page) => {
      await page.route("**/exported", (route) =>
        route.fulfill({ contentType: "text/html; charset=utf-8", body }),
      );
      await page.goto(`${world.origin}/exported`);
      put("export", ["recite think"], await page.locator("body").innerText());
      await page.unroute("**/exported");
      await page.goto(world.origin);
    });
  }
}

/** What the same strings do on a page that believes them: proof that they are sharp, and that the watch sees it. */
async function biting() {
  const watch = new Watch(world);
  const page = await world.visit({ prepare: watch.prepare, bypassCSP: true });
  await page.route("**/control", (route) =>
    route.fulfill({ contentType: "text/html", body: "<!doctype html><body>" }),
  );
  await page.goto(`${world.origin}/control`);
  // A page that goes elsewhere sees no more.
  const drawn = hostile
    .filter(({ text, number }) => number % BELIEVED === 0 && !/http-equiv|<base/.test(text))
    .map(({ text }) => marked.parse(text));
  await page.evaluate(async (drawn) => {
    for (const html of drawn) {
      const place = document.createElement("div");
      document.body.append(place);
      place.innerHTML = html;
    }
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }, drawn);
  await page.context().close();
  world.pages = world.pages.filter((other) => other !== page);
  const noted = Object.values(watch.seen)
    .flat()
    .flatMap((what) =>
      [...what.matchAll(/(?:pwned(?:\(|&#40;)|canary\.invalid\/)(\d+)/g)].map(([, number]) => number),
    );
  report.note(
    `on a page that believes them: ${watch.seen.executed.length} runs, ${watch.seen.remote_loads.length} loads`,
  );
  return new Set(noted).size;
}

/** What the scenes in other files are played with. */
const stage = {
  ...{ world, hostile, texts, full, onBoth, go, goTo, put, post, over, textsOf, fileOf },
  ...{ plain, inOneLine, packed, batched, tagOf, TURN, SHORT_TEXT_MAX },
};
const all = { ...scenes, ...readingScenes(stage), ...namingScenes(stage) };

try {
  for (const [name, scene] of Object.entries(all))
    if (wanted.length === 0 || wanted.includes(name)) await report.timed(name, scene);
  report.note(`places: ${[...places].map(([place, count]) => `${place} ${count / 2}`).join(", ")}`);
  let sharp = 0;
  await report.timed("biting", async () => (sharp = await biting()));
  report.atLeast("strings", new Set(texts).size, 300);
  if (wanted.length === 0) {
    report.atLeast("places", places.size, 80);
    report.atLeast("put", [...places.values()].reduce((sum, count) => sum + count, 0) / 2, 5_000);
  }
  report.atLeast("biting_elsewhere", sharp, full ? 280 : 25);
  report.none("unseen", unseen);
  for (const kind of Object.keys(guarded.seen))
    report.none(kind, [...guarded.seen[kind], ...bare.seen[kind]]);
  const problems = pages.flatMap((page) => page.problems);
  report.none("problems", problems);
} finally {
  await world.end();
}
process.exit(report.verdict());
