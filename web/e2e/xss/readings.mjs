// What is said and what sessions are called, in the places apart from the session itself: the palette, menus and questions,
// notifications, what was found, the page that a link leads to, and the timeline.

import { until } from "../world.mjs";

/** The palette shows so many sessions. */
const RECENT = 8;

/** The browser's own way to tell, written down instead of shown. */
function writtenDown() {
  window.told = [];
  window.Notification = class {
    static permission = "granted";
    constructor(title, { body }) {
      window.told.push(`${title}\n${body}`);
    }
    close() {}
  };
  localStorage.setItem("notify", "yes");
}

export function readingScenes(stage) {
  const { world, hostile, texts, plain, inOneLine, packed, batched, tagOf, fileOf } = stage;
  const { full, onBoth, go, goTo, put, post, over, textsOf, TURN, SHORT_TEXT_MAX } = stage;
  const titles = packed(texts.map(inOneLine), SHORT_TEXT_MAX)
    .map(plain)
    .filter((_, at, all) => full || at % Math.ceil(all.length / RECENT) === 0)
    .slice(0, full ? undefined : RECENT);
  const attributesOf = async (page, selector, name) =>
    plain(
      (
        await page
          .locator(selector)
          .evaluateAll((nodes, name) => nodes.map((n) => n.getAttribute(name)), name)
      ).join("\n"),
    );
  const has = (page, selector, text) =>
    until(`${selector} shows it`, async () => plain(await textsOf(page, selector)).includes(plain(text)));
  const chooseInMenu = async (page, session, word) => {
    await page.locator(`nav [data-session="${session}"]`).getByRole("link").click({ button: "right" });
    await page.locator(".menu").waitFor();
    put("menu", [titleOf(session)], await attributesOf(page, ".menu", "aria-label"));
    await page.getByRole("menuitem", { name: word, exact: true }).click();
    if (word !== "Select") await page.locator(".ask").waitFor();
  };
  const leave = (page, word) => page.getByRole("dialog").getByRole("button", { name: word }).click();
  const named = new Map();
  const titleOf = (session) => named.get(session);

  return {
    async titles_elsewhere() {
      for (const title of titles) named.set(await world.session(title), title);
      const sessions = [...named.keys()];
      const few = sessions.slice(0, full ? undefined : 3);
      await onBoth(async (page) => {
        await page.goto(world.origin);
        await has(page, "nav .sess .t", titles.at(-1));
        put("list_hint", titles, await attributesOf(page, "nav .sess .t", "title"));
        await page.keyboard.press("Control+k");
        await page.locator(".pal [role=option]").first().waitFor();
        put("palette", titles.slice(-RECENT), plain(await textsOf(page, ".pal [role=option]")));
        await page.keyboard.press("Escape");
        for (const session of few) {
          await chooseInMenu(page, session, "Rename");
          put("rename_question", [titleOf(session)], plain(await textsOf(page, ".ask input")));
          await leave(page, "Cancel");
          await chooseInMenu(page, session, "Select");
          await page.locator("nav .pick").first().waitFor();
          put("select", [`Select ${titleOf(session)}`], await attributesOf(page, "nav .pick", "aria-label"));
          await page.keyboard.press("Escape");
        }
      });
      for (const session of few) await world.ask("PATCH", `/sessions/${session}`, { trashed: true });
      await onBoth(async (page) => {
        await goTo(page, "/trash");
        await has(page, "nav .sess .t", titleOf(few.at(-1)));
        for (const session of few) {
          await chooseInMenu(page, session, "Delete permanently");
          put("erase_question", [titleOf(session)], plain(await textsOf(page, ".ask li")));
          await leave(page, "Cancel");
        }
        await page.goto(world.origin);
      });
    },

    async notifications() {
      const before = await world.session("in front");
      await onBoth(async (page) => {
        await page.addInitScript(writtenDown);
        await page.goto(`${world.origin}/s/${before}`);
        await page.locator(".composer, textarea").first().waitFor();
      });
      for (const title of titles) {
        const session = await world.session(title);
        await post(session, "recite by 8 pace 40\nA few words that take a while.");
        await onBoth(async (page) => {
          const told = () => page.evaluate(() => window.told.join("\n"));
          await until("it is told", async () => plain(await told()).includes(title));
          put("notification", [title], plain(await told()));
        });
      }
    },

    async excerpts() {
      const some = hostile
        .filter(({ text }) => plain(text).length <= 60)
        .filter((_, at) => full || at % 24 === 0);
      const body = some.map((one) => `${tagOf(one)} ${inOneLine(one.text)} ${"and so on ".repeat(30)}`);
      const session = await world.session("excerpts");
      await onBoth((page) => go(page, session));
      await post(session, `recite by 4000\n${body.join("\n\n")}\n\nthe end of excerpts`);
      await onBoth((page) => over(page, "the end of excerpts"));
      await onBoth(async (page) => {
        for (const one of some) {
          const said = plain(inOneLine(one.text));
          await page.getByRole("searchbox").fill(tagOf(one));
          await has(page, ".results .hit mark", tagOf(one));
          put("excerpt", [said], plain(await textsOf(page, ".results .hit .text")));
        }
        await page.getByRole("searchbox").fill("");
        for (const one of some.slice(0, full ? undefined : 4)) {
          await page.keyboard.press("Control+k");
          await page.locator(".pal input").fill(tagOf(one));
          await has(page, ".pal [role=option] .dim", tagOf(one));
          const said = plain(inOneLine(one.text));
          put("palette_excerpt", [said], plain(await textsOf(page, ".pal [role=option] .dim")));
          await page.keyboard.press("Escape");
          // The same keys would close what is still open.
          await page.locator(".pal").waitFor({ state: "hidden" });
        }
      });
    },

    /** What a link leads to, and what happened in it. */
    async shared_and_timeline() {
      const title = titles[0];
      const refused = plain(titles[1]);
      const tool = plain(titles[2]);
      for (const batch of batched().slice(full ? 0 : -2)) {
        const strings = batch.map(({ text }) => text);
        const session = await world.session(title);
        await onBoth((page) => page.goto(`${world.origin}/s/${session}`));
        const body = batch.map((one) => `${tagOf(one)}\n\n${one.text}`).join("\n\n");
        const notes = await fileOf("notes.txt", body);
        const files = await Promise.all(strings.map(async (name, at) => fileOf(name, `shared ${at}`)));
        await post(session, `recite by 2000 name\n${tool}`);
        await onBoth((page) => over(page, tool, `${TURN} .parts .row .mono`));
        await post(session, `recite refuse\n${refused}`);
        await onBoth((page) => over(page, refused, `${TURN} [data-marker=failed]`));
        await post(session, `recite think by 48 file notes.txt\n${body}`, { attachments: [notes, ...files] });
        await onBoth((page) => over(page, tagOf(batch.at(-1))));
        const { secret } = await world.ask("POST", `/sessions/${session}/shares`);
        await onBoth(async (page) => {
          await sharedPage(page, secret, { title, refused, tool, strings, batch });
          await timeline(page, session, { title, refused, tool, strings });
        });
      }
    },
  };

  async function sharedPage(page, secret, { title, refused, tool, strings, batch }) {
    await page.goto(`${world.origin}/shared/${secret}`);
    await over(page, tagOf(batch.at(-1)));
    await page.evaluate(() => {
      for (const row of document.querySelectorAll(".row[aria-expanded=false]")) row.click();
    });
    put("shared_title", [title], plain(await textsOf(page, ".shared h1")));
    put("shared_tab", [title], plain(await page.title()));
    put("shared_message", strings, await textsOf(page, `${TURN} .said .words`));
    put("shared_file_name", strings, await textsOf(page, `${TURN} .said .file`));
    put("shared_reasoning", strings, await textsOf(page, `${TURN} .parts .open .words`));
    put("shared_answer", batch.map(tagOf), await textsOf(page, `${TURN} .parts .prose`));
    put("shared_tool_result", strings, await textsOf(page, `${TURN} .parts .open pre`));
    put("shared_tool_name", [tool], plain(await textsOf(page, `${TURN} .parts .row .mono`)));
    // The words of a provider are not shown to strangers.
    const failed = plain(await textsOf(page, `${TURN} [data-marker=failed]`));
    put("shared_error", ["The answer failed."], failed.includes(refused) ? "" : failed);
  }

  async function timeline(page, session, { title, refused, tool, strings }) {
    await page.goto(`${world.origin}/s/${session}/timeline`);
    await page.locator(".log blockquote").first().waitFor();
    const told = plain(await textsOf(page, ".log p"));
    put("timeline_title", [title], plain(await textsOf(page, ".timeline h1")));
    put("timeline_name", [title], told);
    put("timeline_error", [refused], told);
    put("timeline_tool", [tool], told);
    put("timeline_message", strings, await textsOf(page, ".log blockquote"));
  }
}
