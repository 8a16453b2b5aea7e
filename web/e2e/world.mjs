// The released binary, the scripted model, a network that can be cut, and a real browser.

import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium } from "playwright-core";

import { Network } from "./chaos.mjs";
import { Reciter } from "./reciter.mjs";

const target = process.env.CARGO_TARGET_DIR ?? join(import.meta.dirname, "../../target");
const binary = (name) => join(target, "release", name);
/** The first is the one that answers. */
const MODELS = ["scripted", "reciting"];
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

export class World {
  /** With the scripted model, or one that recites what it is given. */
  static async make({ model = "scripted" } = {}) {
    const world = new World();
    world.home = mkdtempSync(join(tmpdir(), "everturn-e2e-"));
    world.reciter = new Reciter();
    const reciterPort = await world.reciter.listen();
    world.modelPort = await freePort();
    world.model = spawn(binary("scripted-model"), [String(world.modelPort)], { stdio: "ignore" });
    world.port = await freePort();
    writeFileSync(
      join(world.home, "config.toml"),
      [
        `data = "${join(world.home, "data")}"`,
        `listen = "127.0.0.1:${world.port}"`,
        "drain_seconds = 2",
        ...MODELS.toSorted((one) => (one === model ? -1 : 1)).flatMap((name) => [
          "[[models]]",
          `name = "${name}"`,
          'provider = "openai"',
          `url = "http://127.0.0.1:${name === "reciting" ? reciterPort : world.modelPort}/v1"`,
          `model = "${name}"`,
          "takes_prefix = true",
          "tools = true",
          "window_tokens = 1000000",
          "output_tokens_max = 250000",
        ]),
      ].join("\n"),
    );
    world.token = world.run(["token", "new"]).trim();
    world.run(["user", "password", NAME], `${PASSWORD}\n`);
    await world.serve();
    world.network = new Network(world.port);
    world.origin = `http://127.0.0.1:${await world.network.listen()}`;
    world.browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
      args: ["--no-sandbox", "--disable-dev-shm-usage"],
    });
    world.pages = [];
    return world;
  }

  environment() {
    return { ...process.env, HOME: this.home, EVERTURN_LOG: "warn", EVERTURN_TOKEN: "" };
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
    await until("ready", () => said.includes("ready on"));
  }

  /** SIGKILL: a graceful stop would hide the bug. */
  async kill() {
    const gone = new Promise((resolve) => this.server.once("exit", resolve));
    this.server.kill("SIGKILL");
    await gone;
  }

  async ask(method, path, body) {
    const response = await fetch(`http://127.0.0.1:${this.port}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  }

  async session(title) {
    return (await this.ask("POST", "/sessions", { title })).session;
  }

  /** A browser of its own, signed in. */
  async page({ width = 1280, height = 800, ...options } = {}) {
    const context = await this.browser.newContext({ viewport: { width, height }, ...options });
    await context.addInitScript(readFileSync(join(import.meta.dirname, "watch.js"), "utf8"));
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
      if (!url.startsWith(this.origin) && !/^(blob|data|ws):/.test(url))
        problems.push(`left the origin: ${url}`);
    });
    page.problems = problems;
    this.pages.push(page);
    await page.goto(this.origin);
    await page.getByLabel("Name").fill(NAME);
    await page.getByLabel("Password").fill(PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("navigation", { name: "Sessions" }).waitFor();
    return page;
  }

  /** What every test must leave behind. */
  async verdict() {
    const wrong = [];
    for (const page of this.pages) {
      if (page.isClosed()) continue;
      const watched = await page.evaluate(() => window.watched);
      if (watched.shrinks > 0)
        wrong.push(`text shrank ${watched.shrinks} times: ${watched.texts.slice(0, 3)}`);
      wrong.push(...page.problems);
      await page.context().close();
    }
    this.pages = [];
    return wrong;
  }

  async end() {
    this.network?.close();
    await this.browser?.close();
    this.server?.kill("SIGKILL");
    this.model?.kill("SIGKILL");
    this.reciter?.close();
    rmSync(this.home, { recursive: true, force: true });
  }
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
