// `just axe [--full]`: every state that the pages have, in both themes, wide and on a phone, before axe's rules and our own.
// All looks show the same sessions at once, as devices of one person do. One line a figure, the verdict last.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

import { animations, otherVoices, overflows, smallTargets, violations } from "./looks.mjs";
import { Report } from "./report.mjs";
import { World, field, say, until } from "./world.mjs";

const full = process.argv.includes("--full");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const LISTEN = readFileSync(join(import.meta.dirname, "listen.js"), "utf8");
/** The narrowest window that everything must fit in. */
const NARROW = 320;

/** Half of them ask for less motion. */
const LOOKS = [
  { colorScheme: "light", width: 1280, height: 800, reducedMotion: "reduce" },
  { colorScheme: "dark", width: 390, height: 844, reducedMotion: "reduce" },
  { colorScheme: "dark", width: 1280, height: 800 },
  { colorScheme: "light", width: 390, height: 844 },
];
const MORE_LOOKS = [
  { colorScheme: "light", width: 768, height: 1024 },
  { colorScheme: "dark", width: 320, height: 568 },
  { colorScheme: "light", width: 1920, height: 1080, reducedMotion: "reduce" },
  { colorScheme: "dark", width: 768, height: 1024, reducedMotion: "reduce" },
];

const report = new Report("axe");
/** What was found, with where: the same is told once. */
const found = {
  violations: new Map(),
  overflows: new Map(),
  small_targets: new Map(),
  other_voices: new Map(),
  animations_reduced: new Map(),
};
const gone = [];
let examined = 0;
let animated = 0;
const states = new Set();

// Every word of an answer is one that nobody announces.
const BIRDS = "The heron stands in the reeds and the tern goes over. ";
const SLOW = `recite pace 250\n${BIRDS.repeat(40)}`;
const PAPER = `# Herons and terns

Where they **stand**, how they _fly_, and \`ardea.cinerea\` in a [field guide](https://example.org/herons).

## Counts

| bird | Monday | Tuesday | Wednesday | Thursday | Friday | remarks of the one who counted them |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
| heron | 12 | 9 | 14 | 3 | 0 | fog until noon, then a clear view over all of the reeds |
| tern | 120 | 90 | 140 | 33 | 5 | ~~too many~~ counted twice |

1. First the reeds
   - [x] north
   - [ ] south
2. Then the shore

> Nobody counts an ibis twice.

\`\`\`rust
fn count(birds: &[Bird]) -> usize { birds.iter().filter(|bird| bird.stands_in(&REEDS)).map(|bird| bird.legs).sum() }
\`\`\`

\`\`\`rust
const REEDS: usize = 3;
\`\`\`

\`\`\`
no language, one line
\`\`\`

| once | more |
| --- | --- |
| a tern | a heron |

### A word without an end

${"heron".repeat(40)}

![a heron](https://example.org/heron.png)

---

#### The rest

${BIRDS.repeat(6)}
`;

const world = await World.make({ model: "reciting" });
const looks = full ? [...LOOKS, ...MORE_LOOKS] : LOOKS;
// axe comes in by the browser's own door, which the policy of the page says nothing about.
const prepare = async (context) => {
  await context.addInitScript(LISTEN);
  await context.addInitScript(AXE);
};
const pages = await Promise.all(looks.map((look) => world.visit({ ...look, prepare })));
const lookOf = new Map(pages.map((page, at) => [page, `${looks[at].colorScheme} ${looks[at].width}`]));
const onAll = (act) => Promise.all(pages.map(act));
const [first] = pages;

async function examine(page, state) {
  const note = (kind, lines, where = lookOf.get(page)) => {
    for (const line of lines) {
      const places = found[kind].get(line) ?? [];
      found[kind].set(line, [...places, `${state} ${where}`]);
    }
  };
  const { width, height } = page.viewportSize();
  note("violations", await violations(page));
  note("small_targets", await smallTargets(page));
  note("other_voices", await otherVoices(page));
  note("overflows", await overflows(page));
  const moving = await animations(page);
  if (looks[pages.indexOf(page)].reducedMotion === "reduce") note("animations_reduced", moving);
  else animated += moving.length;
  examined += 1;
  return async () => {
    if (width >= 720) return;
    await page.setViewportSize({ width: NARROW, height });
    note("overflows", await overflows(page), NARROW);
    note("small_targets", await smallTargets(page), NARROW);
    await page.setViewportSize({ width, height });
  };
}

/** Waits for a state on every page and looks at it; it must still be there when it was looked at. */
async function state(name, shown, among = pages) {
  const begun = performance.now();
  const narrow = await Promise.all(
    among.map(async (page) => {
      await until(`${name} is shown at ${lookOf.get(page)}`, () => shown(page));
      const more = await examine(page, name);
      if (!(await shown(page))) gone.push(`${name} at ${lookOf.get(page)}`);
      return more;
    }),
  );
  for (const look of narrow) await look();
  states.add(name);
  report.note(`${name}: ${((performance.now() - begun) / 1_000).toFixed(1)} s`);
}

const sees = (selector, hasText) => (page) =>
  page
    .locator(selector, hasText === undefined ? {} : { hasText })
    .first()
    .isVisible();
const button = (page, name) => page.getByRole("button", { name, exact: true });
const go = (path) => onAll((page) => page.evaluate((path) => history.pushState(null, "", path), path));
const post = (session, text, more = {}) =>
  world.ask("POST", `/sessions/${session}/messages`, { text, ...more });

async function show(title) {
  const session = await world.session(title);
  await go(`/s/${session}`);
  await onAll((page) => field(page).waitFor());
  return session;
}

async function stop(session) {
  const { run } = await world.ask("GET", `/sessions/${session}`);
  await world.ask("POST", `/sessions/${session}/stop`, { run });
}

const scenes = {
  async signing_in() {
    await state("sign_in", sees(".signin"));
    world.network.set("reset");
    await onAll((page) => world.signIn(page));
    await state("sign_in_refused", sees("[role=alert]"));
    world.network.set("pass");
    // One by one: a password is slow to check, by design.
    for (const page of pages) {
      await world.signIn(page);
      await page.locator(".side").waitFor();
    }
    await state("empty_list", sees(".none, .main h1"));
  },

  async beginning() {
    const session = await show(undefined);
    await state("empty_session", sees(".hello"));
    const files = ["heron.txt", `a-${"long-".repeat(20)}name.pdf`].map((name) => ({
      name,
      mimeType: "text/plain",
      buffer: Buffer.from(name),
    }));
    await onAll(async (page) => {
      await page.locator("input[type=file]").setInputFiles(files);
      await field(page).fill("Two files\nand a draft");
    });
    await state("chosen_files", async (page) => (await page.locator(".files.in .file").count()) === 2);
    await onAll(async (page) => {
      if (page !== first) await field(page).fill("");
    });
    await say(first, `recite by 400\n${BIRDS}`);
    await state(
      "sent_files",
      async (page) => (await sees(".said a.file")(page)) && (await sees(".prose")(page)),
    );
    await onAll((page) => page.locator("header h1").hover());
    await onAll((page) => button(page, "Rename").click());
    await state("rename", sees(".rename input"));
    await onAll((page) => page.locator(".rename input").press("Escape"));
    return session;
  },

  async thinking() {
    const session = await show("Thinking of herons");
    await post(session, `recite think pace 250\n${BIRDS.repeat(40)}`);
    await state("thinking", sees(".who .k", "Thinking"));
    await onAll((page) => page.locator(".row:visible").first().click());
    await state("reasoning_open", sees(".open .words"));
    await stop(session);
    await onAll((page) => page.locator("[data-marker=stopped]").waitFor());
  },

  async writing() {
    const session = await show(
      "A very long name for a session about herons, terns and everything else in the reeds",
    );
    await post(session, SLOW);
    await state("writing", sees(".parts.live"));
    await post(session, `${BIRDS.repeat(3)} and what then?`);
    await post(session, "Count them");
    await post(session, "Only those in the reeds", { mode: "steer" });
    await state("queue", async (page) => (await page.locator(".tray .q").count()) === 3);
    await onAll((page) => page.locator(".q").first().getByRole("button", { name: "Edit" }).click());
    await state("queue_edit", sees(".q textarea"));
    await onAll((page) => page.locator(".q textarea").press("Escape"));
    await stop(session);
    await state("queue_paused", sees(".tray .paused"));
    await world.ask("POST", `/sessions/${session}/queue/clear`);
    await state("stopped", sees("[data-marker=stopped]"));
    await world.ask("POST", `/sessions/${session}/retry`);
    await onAll((page) => page.locator(".parts.live").waitFor());
    await stop(session);
    await state("versions", sees(".ver"));
  },

  async tools() {
    const session = await show("Tools");
    await post(session, `recite call pace 300 by 10\n${BIRDS.repeat(3)}`);
    await state("tool_drafted", sees(".row .mono"));
    await post(session, "Look at the shore too", { mode: "steer" });
    await state("steering", sees(".q .tag.k"));
    await state("steered", sees(".steered"));
    await post(session, `recite by 400 call\n${BIRDS}`);
    await state("tool_closed", sees(".row[aria-expanded=false]", "Ran"));
    await post(session, `recite by 400 name\nfly`);
    await onAll((page) => page.locator(".row .bad").last().waitFor());
    await onAll(async (page) => {
      await until("it rests", async () => (await page.locator(".parts.live").count()) === 0);
      // Steps may have folded into one row, which is opened first.
      const rows = page.locator("article[data-turn]").last().locator(".row:visible");
      await rows.first().click();
      if (!(await sees(".open pre:visible")(page))) await rows.last().click();
    });
    await state("tool_open", sees(".open pre:visible"));
    await post(session, `recite refuse\nThe quota of the heron is used up: ${"x".repeat(200)}`);
    await state("failed", sees("[data-marker=failed]"));
  },

  async reading() {
    const session = await show("A paper on herons");
    await post(session, `recite by 400\n${PAPER}`);
    await state(
      "markdown",
      async (page) => (await sees(".prose table")(page)) && (await page.locator(".parts.live").count()) === 0,
    );
    await post(session, SLOW.replace("pace 250", "pace 60"));
    await onAll(async (page) => {
      await page.locator(".parts.live").waitFor();
      await page.locator(".thread").hover();
      await page.mouse.wheel(0, -2_000);
    });
    await state("jump", sees(".to-end"));
    await world.ask("PATCH", `/sessions/${session}`, { pinned: true });
    await go("/");
    await state("list", sees(".sess .m.k"));
    await onAll((page) => page.getByRole("searchbox").fill("herons"));
    await state("search", sees(".sess .w.num"));
    await onAll((page) => page.getByRole("searchbox").fill("albatross"));
    await state("search_nothing", sees(".none", "No results"));
    await onAll((page) => page.getByRole("searchbox").fill(""));
    await go("/s/nowhere");
    await state("nothing_here", sees("h1", "Session not found"));
    await stop(session);
    return session;
  },

  async changing() {
    const session = await show("Second thoughts");
    await post(session, `recite by 400\n${BIRDS}`);
    await onAll((page) => page.locator(".prose").waitFor());
    const [{ turn }] = (await world.ask("GET", `/sessions/${session}`)).turns;
    await onAll((page) => page.locator(".context").click());
    await state("context", sees(".pop:popover-open"));
    await onAll((page) => page.keyboard.press("Escape"));
    await onAll((page) => page.keyboard.press("Control+k"));
    await state("palette", sees(".pal .o[aria-selected=true]"));
    await onAll((page) => page.keyboard.press("Escape"));
    await onAll(async (page) => {
      await page.locator(".area > .thread").focus();
      await page.keyboard.press("?");
    });
    await state("shortcuts", sees(".keys dl"));
    await onAll((page) => page.keyboard.press("Escape"));
    await onAll((page) => button(page, "Edit message").click({ force: true }));
    await state("edit", sees(".editing textarea"));
    await onAll((page) => page.locator(".editing textarea").press("Escape"));
    const branch = await world.ask("POST", `/sessions/${session}/branch`, { turn });
    await world.ask("POST", `/sessions/${session}/undo`, { from: turn });
    await state("taken_back", sees("[data-marker=taken_back]"));
    await onAll((page) => button(page, "History").click());
    await state("history", sees(".gone .words"));
    await onAll((page) => button(page, "Close").click());
    await go(`/s/${branch.session}`);
    await state("branch", sees(".origin"));
  },

  /** What is around the conversation. */
  async around() {
    const session = await world.session("Around");
    await post(session, `recite by 400\n${BIRDS}`);
    for (const page of [
      "models",
      "projects",
      "conversation",
      "appearance",
      "access",
      "people",
      "messaging",
      "data",
    ]) {
      await go(`/settings/${page}`);
      await state(`settings_${page}`, sees(".subject h2"));
    }
    await go("/settings");
    await state("settings", sees(".settings h1"));
    await go("/server");
    await state("server", sees(".plot"));
    await go(`/s/${session}/timeline`);
    await state("timeline", sees(".log li"));
    await world.ask("PATCH", `/sessions/${session}`, { tags: ["scratch"] });
    await go(`/s/${session}`);
    await state("break_it", sees(".break"));
  },

  /** A session that nobody sent a message in yet, and its draft in the list. */
  async started() {
    await go("/new");
    await state("new_session", sees(".hello h2"));
    await onAll((page) => field(page).fill("A draft of herons"));
    await go("/");
    await state("draft", sees(".sess .m", "Draft"));
  },

  /** Killed in mid-answer, with messages that wait on every device. */
  async away() {
    const session = await show("Away");
    await post(session, `recite pace 120\n${BIRDS.repeat(12)}`);
    await onAll((page) =>
      until("it writes", async () => (await page.locator(".parts .prose").textContent()).length > 30),
    );
    await world.kill();
    await state("away", sees(".strip", "Can't reach the server."));
    for (const page of pages) await say(page, `A message for later, ${BIRDS}`);
    await state("outbox", sees(".said.wait"));
    await world.serve();
    await state("back", sees(".strip.ok"), pages.slice(0, LOOKS.length));
    await onAll((page) =>
      until("nothing waits", async () => (await page.locator(".said.wait").count()) === 0),
    );
    await state("interrupted", sees(".parts [data-cut=interrupted]"));
    const { queue } = await world.ask("GET", `/sessions/${session}`);
    await Promise.all(queue.map(({ turn }) => world.ask("DELETE", `/sessions/${session}/queue/${turn}`)));
    await world.ask("PATCH", "/settings", { after_interruption: "wait" });
    await until("it goes on", async () => (await world.ask("GET", `/sessions/${session}`)).run !== null);
    await world.kill();
    await world.serve();
    await state("not_gone_on", sees("[data-marker=interrupted] .do"));
    await world.ask("PATCH", "/settings", { after_interruption: "continue" });
  },
};

const EVENTS = [
  "Agent is writing.",
  "Agent finished, ",
  "Stopped. Everything is kept.",
  "Connection lost. Reconnecting.",
  "Back. Nothing missed.",
];

try {
  for (const [name, scene] of Object.entries(scenes)) await report.timed(name, scene);
  const heard = await onAll((page) => page.evaluate(() => window.heard));
  const told = heard.flatMap(({ said }) => said);
  for (const text of [...new Set(told)]) report.note(`announced: ${text}`);
  const moved = heard.flatMap(({ moved }, at) => (looks[at].reducedMotion === "reduce" ? moved : []));
  report.atLeast("states", states.size, 15);
  report.atLeast("examined", examined, states.size * LOOKS.length);
  report.none("gone_too_soon", gone);
  for (const [kind, lines] of Object.entries(found)) {
    const told = [...lines].map(([line, where]) => `${line} (${where.slice(0, 4).join(", ")})`);
    report.none(kind, told);
  }
  report.none("motion_reduced", moved);
  report.atLeast("animations_else", animated, 1);
  report.none(
    "events_untold",
    EVENTS.filter((event) => !told.some((text) => text.includes(event))),
  );
  report.none(
    "tokens_told",
    told.filter((text) => /heron|tern|reeds/i.test(text)),
  );
  const problems = pages.flatMap((page) => page.problems);
  report.none("problems", problems);
} finally {
  await world.end();
}
process.exit(report.verdict());
