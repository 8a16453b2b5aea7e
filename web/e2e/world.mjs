// The released binary, the scripted model, a network that can be cut, and a real browser.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { Network } from "./chaos.mjs";
import { Reciter } from "./reciter.mjs";
import { Disk } from "./world/disk.mjs";

const target = process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, "../../target");
const binary = (name) => join(target, "release", name);
/** The models of a world; the first is the one that answers. */
function models(first, ports) {
  const made = ["scripted", "reciting"].map((name) => ({
    name,
    url: ports[name],
    tools: true,
    window_tokens: 1_000_000,
    output_tokens_max: 250_000,
  }));
  if (ports.real !== undefined)
    made.push({ name: "real", url: ports.real, tools: false, window_tokens: 4_096, output_tokens_max: 512 });
  return made
    .toSorted((one) => (one.name === first ? -1 : 1))
    .flatMap(({ name, url, ...rest }) => [
      "[[models]]",
      `name = "${name}"`,
      'provider = "openai"',
      `url = "http://127.0.0.1:${url}/v1"`,
      `model = "${name === "real" ? "smollm2-135m-instruct" : name}"`,
      "takes_prefix = true",
      ...Object.entries(rest).map(([key, value]) => `${key} = ${value}`),
    ]);
}

const NAME = "owner";
const PASSWORD = "a heron stands in the reeds";

export async function freePort() {
  const server = net.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Waits until something is so; says what it waited for when it never is. */
export async function until(what, look, most = 15_000) {
  const deadline = performance.now() + most;
  let last;
  while (performance.now() < deadline) {
    try {
      last = await look();
      if (last) return last;
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`never ${what} (last: ${last})`);
}

/** A process and all that it started. */
function browserProcesses(id) {
  const tasks = readdirSync(`/proc/${id}/task`);
  const children = tasks.map((task) => readFileSync(`/proc/${id}/task/${task}/children`, "utf8"));
  const ids = children.join(" ").split(" ").filter(Boolean).map(Number);
  return [id, ...ids.flatMap(browserProcesses)];
}

export class World {
  /** What the configuration says beside what every world needs, and the environment. */
  more = { config: [], environment: {} };
  words = 0;

  /**
   * With the scripted model, one that recites what it is given, or a real one that listens on a port. With `disk`, the data
   * is on a disk of so many megabytes.
   */
  static async make({ model = "scripted", real, disk } = {}) {
    const world = new World();
    world.home = mkdtempSync(join(tmpdir(), "everturn-e2e-"));
    if (disk !== undefined) world.disk = Disk.mount(join(world.home, "data"), disk);
    world.reciter = new Reciter();
    const reciterPort = await world.reciter.listen();
    world.modelPort = await freePort();
    world.model = spawn(binary("scripted-model"), [String(world.modelPort)], { stdio: "ignore" });
    world.port = await freePort();
    world.settled = [
      `data = "${join(world.home, "data")}"`,
      `listen = "127.0.0.1:${world.port}"`,
      "drain_seconds = 2",
      ...models(model, { scripted: world.modelPort, reciting: reciterPort, real }),
    ];
    world.configure();
    world.token = world.run(["token", "new"]).trim();
    world.run(["user", "password", NAME], `${PASSWORD}\n`);
    await world.serve();
    // The first steps are a scenario of their own.
    await world.prefer({});
    world.network = new Network(world.port);
    world.origin = `http://127.0.0.1:${await world.network.listen()}`;
    // A process of its own, so that it can be stopped as a whole.
    world.launched = await chromium.launchServer({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    });
    world.browser = await chromium.connect(world.launched.wsEndpoint());
    world.pages = [];
    return world;
  }

  environment() {
    const { environment } = this.more;
    return { ...process.env, HOME: this.home, EVERTURN_LOG: "warn", EVERTURN_TOKEN: "", ...environment };
  }

  configure() {
    writeFileSync(join(this.home, "config.toml"), [...this.settled, ...this.more.config].join("\n"));
  }

  /** Starts the server anew with more in its configuration and environment, and with only that. */
  async reconfigure({ config = [], environment = {} } = {}) {
    this.more = { config, environment };
    this.configure();
    await this.kill();
    await this.serve();
  }

  /** What the owner prefers: what everybody begins with, but for this, and without the first steps. */
  prefer(change) {
    const usual = { busy: "queue", language: null, notify: false, first_run_done: true };
    return this.ask("PUT", "/me/preferences", { ...usual, ...change });
  }

  run(args, input = "") {
    const config = ["--config", join(this.home, "config.toml")];
    const made = spawnSync(binary("everturn"), [...config, ...args], { input, env: this.environment() });
    if (made.status !== 0) throw new Error(`${args.join(" ")}: ${made.stderr}`);
    return made.stdout.toString();
  }

  async serve() {
    const config = ["--config", join(this.home, "config.toml")];
    this.server = spawn(binary("everturn"), [...config, "serve"], {
      stdio: ["ignore", "pipe", "pipe"],
      env: this.environment(),
    });
    let said = "";
    this.server.stdout.on("data", (bytes) => (said += bytes));
    this.server.stderr.on("data", (bytes) => (said += bytes));
    await until("ready", () => said.includes("ready on"), 30_000);
  }

  /** Stops every process of the browser, as a lid that is closed does, and lets them go on. */
  async sleep(seconds) {
    const all = browserProcesses(this.launched.process().pid);
    for (const id of all) process.kill(id, "SIGSTOP");
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    for (const id of all.reverse()) process.kill(id, "SIGCONT");
  }

  /** SIGKILL: a graceful stop would hide the bug. */
  async kill() {
    const gone = new Promise((resolve) => this.server.once("exit", resolve));
    this.server.kill("SIGKILL");
    await gone;
  }

  /** As the owner's own program, unless the headers say otherwise. */
  async ask(method, path, body, headers = {}) {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  /** Signs a browser in that there is nothing of but what it says of itself; says whether it was let in. */
  async login(headers, { name, password } = { name: NAME, password: PASSWORD }) {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1/login`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ name, password }),
    });
    return response.ok;
  }

  async session(title) {
    return (await this.ask("POST", "/sessions", { title })).session;
  }

  /** Returns a word that no other scenario of this world uses. Searches cover every session of a user. */
  unusedWord(stem) {
    this.words += 1;
    return `${stem}x${String.fromCharCode(97 + this.words)}`;
  }

  /** A browser of its own, signed in, as the owner unless somebody else is named. */
  async page({ who, ...options } = {}) {
    const page = await this.visit(options);
    await this.signIn(page, who);
    await page.getByRole("navigation", { name: "Sessions" }).waitFor();
    return page;
  }

  async signIn(page, { name, password } = { name: NAME, password: PASSWORD }) {
    await page.getByLabel("Name").fill(name);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  }

  /**
   * A browser of its own, of somebody who is not known yet. `prepare` is given its context before any page is in it; `watched`
   * for text that shrinks, but for where that would be measured too. `origin` is another name of the server, and `also` are
   * other servers that the page may be led to.
   */
  async visit({
    width = 1280,
    height = 800,
    prepare,
    watched = true,
    origin = this.origin,
    also = [],
    ...options
  } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, ...options });
    if (watched) await context.addInitScript(readFileSync(join(import.meta.dirname, "watch.js"), "utf8"));
    await prepare?.(context);
    const page = await context.newPage();
    const problems = [];
    // A server that is down is what some tests are about.
    const expected = /Failed to load resource|ERR_CONNECTION|WebSocket connection|net::ERR_/;
    page.on("console", (line) => {
      if (line.type() === "error" && !expected.test(line.text())) problems.push(line.text());
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    page.on("request", (request) => {
      const url = request.url();
      if (![origin, ...also].some((known) => url.startsWith(known)) && !/^(blob|data|ws):/.test(url))
        problems.push(`left the origin: ${url}`);
    });
    page.problems = problems;
    /** Texts that must be somewhere in the end. */
    page.typed = new Set();
    this.pages.push(page);
    await page.goto(origin);
    return page;
  }

  /** What every test must leave behind. */
  async verdict() {
    const wrong = [];
    for (const page of this.pages) {
      if (page.isClosed()) continue;
      const watched = await page.evaluate(() => window.watched);
      if (watched?.shrinks > 0)
        wrong.push(`text shrank ${watched.shrinks} times: ${watched.texts.slice(0, 3)}`);
      if (watched?.gaps > 0) wrong.push(`${watched.gaps} gaps between entries`);
      wrong.push(...page.problems);
      wrong.push(...(await this.missing(page)));
      await page.context().close();
    }
    this.pages = [];
    return wrong;
  }

  /** What was typed in a page and is now neither on it, nor on its device, nor on the server. */
  async missing(page) {
    const typed = [...page.typed];
    if (typed.length === 0) return [];
    const here = await page.evaluate(() => {
      const fields = [...document.querySelectorAll("textarea")].map(({ value }) => value);
      return document.body.innerText + fields.join("\n") + JSON.stringify(localStorage);
    });
    const left = typed.filter(
      (text) => !here.includes(JSON.stringify(text).slice(1, -1)) && !here.includes(text),
    );
    if (left.length === 0) return [];
    const { sessions } = await this.ask("GET", "/sessions?count=200");
    const kept = new Set();
    for (const { session } of sessions) {
      const { turns, queue } = await this.ask("GET", `/sessions/${session}`);
      for (const { message } of [...turns, ...queue]) kept.add(message.text);
      for (const part of turns.flatMap(({ answer }) => answer?.parts ?? []))
        if (part.steered !== undefined) kept.add(part.steered.message.text);
    }
    return left.filter((text) => !kept.has(text)).map((text) => `typed and nowhere: ${text}`);
  }

  async end() {
    this.network?.close();
    await this.browser?.close();
    await this.launched?.close();
    this.server?.kill("SIGKILL");
    this.model?.kill("SIGKILL");
    this.reciter?.close();
    this.disk?.unmount();
    rmSync(this.home, { recursive: true, force: true });
  }
}

/** Does something that loads the page anew, and waits until it did. */
export async function reloads(page, act) {
  const loaded = page.waitForEvent("load");
  await act();
  await loaded;
}

/** Where a person writes. */
export function field(page) {
  return page.getByRole("textbox", { name: "Message", exact: true });
}

/** Opens a session in a page. */
export async function open(page, world, session) {
  // A page that could not be loaded a moment ago may still be on its way to saying so.
  await until("the page is loaded", () => page.goto(`${world.origin}/s/${session}`));
  await field(page).waitFor();
}

export async function say(page, text, press = "Enter") {
  page.typed.add(text);
  await field(page).fill(text);
  await field(page).press(press);
}

/** The answer texts of a turn, as they are seen. */
export function answerOf(page, at = -1) {
  return page.evaluate((at) => {
    const turns = [...document.querySelectorAll("article[data-turn]")];
    const turn = turns.at(at);
    return [...(turn?.querySelectorAll(".parts .prose") ?? [])].map((node) => node.textContent).join(" ");
  }, at);
}

/** The same of the server's fold. */
export async function foldOf(world, session, at = -1) {
  const { turns } = await world.ask("GET", `/sessions/${session}`);
  const parts = turns.at(at)?.answer?.parts ?? [];
  return parts.flatMap((part) => (part.text === undefined ? [] : [part.text])).join(" ");
}

export const words = (text) => text.trim().split(/\s+/).join(" ");
