// The same pages in a second build, and a server that hands them out: pages come from the second build once `swap` was
// called, everything else from the real server. A server of that build answers 404 for the parts of the first one.

import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { build, loadConfigFromFile } from "vite";

const WEB = join(import.meta.dirname, "../..");
const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css" };

let built;

/** Builds the pages with one more statement in every part, so that every part has another name. Once for all scenarios. */
export function nextBuild() {
  built ??= (async () => {
    const outDir = mkdtempSync(join(tmpdir(), "everturn-pages-"));
    process.once("exit", () => rmSync(outDir, { recursive: true, force: true }));
    const command = { command: "build", mode: "production" };
    const { config } = await loadConfigFromFile(command, join(WEB, "vite.config.ts"), WEB, "silent");
    const changed = {
      name: "changed",
      renderChunk: (code) => ({ code: `${code}\n;globalThis.nextBuild = true;\n`, map: null }),
    };
    await build({
      ...config,
      configFile: false,
      root: WEB,
      logLevel: "silent",
      // This plugin writes into the place that the server is built from.
      plugins: [...config.plugins.flat().filter((plugin) => plugin.name !== "placed"), changed],
      build: { ...config.build, outDir, emptyOutDir: true },
    });
    return outDir;
  })();
  return built;
}

const nameOf = (folder) => readFileSync(join(folder, "build.txt"), "utf8");

export class Upgrade {
  /** Where the pages come from; the server itself until it is swapped. */
  folder;

  constructor(port) {
    this.port = port;
    this.server = http.createServer((request, response) => this.answer(request, response));
    this.server.on("upgrade", (request, near, head) => this.join(request, near, head));
    this.sockets = new Set();
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    this.origin = `http://127.0.0.1:${this.server.address().port}`;
    return this;
  }

  /** Hands out the pages of the next build from now on. */
  async swap() {
    this.folder = await nextBuild();
    this.names = [nameOf(join(WEB, "dist")), nameOf(this.folder)];
  }

  answer(request, response) {
    const { pathname } = new URL(request.url, this.origin);
    const isPage = request.method === "GET" && !pathname.startsWith("/api/");
    const file = isPage && this.folder !== undefined ? this.fileOf(pathname) : undefined;
    const missing = this.folder !== undefined && pathname.startsWith("/assets/") && file === undefined;
    if (missing) return response.writeHead(404, { "content-type": "application/json" }).end("{}");
    const asked = { host: "127.0.0.1", port: this.port, method: request.method, path: request.url };
    // Requests the page from the server for its headers only; the body comes from the next build.
    const headers = { ...request.headers };
    if (file !== undefined) delete headers["if-none-match"];
    const far = http.request(
      { ...asked, path: file === undefined ? asked.path : "/", headers },
      (answered) => {
        if (file === undefined) {
          response.writeHead(answered.statusCode, answered.headers);
          return answered.pipe(response);
        }
        answered.resume();
        const { etag, "content-encoding": _, "content-length": __, ...kept } = answered.headers;
        const type = TYPES[file.split(".").at(-1)] ?? "application/octet-stream";
        response.writeHead(200, { ...kept, "content-type": type }).end(readFileSync(file));
      },
    );
    far.on("error", () => response.destroy());
    request.pipe(far);
  }

  /** The file of the next build behind a path; the page itself for every place inside it. */
  fileOf(pathname) {
    const named = join(this.folder, pathname);
    if (statSync(named, { throwIfNoEntry: false })?.isFile()) return named;
    return pathname.startsWith("/assets/") ? undefined : join(this.folder, "index.html");
  }

  /** A WebSocket. The server is made to greet with the name of the build that is handed out; both names are of one length. */
  join(request, near, head) {
    const far = net.connect(this.port, "127.0.0.1");
    const lines = [`${request.method} ${request.url} HTTP/1.1`];
    for (let at = 0; at < request.rawHeaders.length; at += 2)
      lines.push(`${request.rawHeaders[at]}: ${request.rawHeaders[at + 1]}`);
    far.write(`${lines.join("\r\n")}\r\n\r\n`);
    far.write(head);
    near.pipe(far);
    far.on("data", (bytes) => {
      const [before, after] = this.names ?? [];
      const at = before === undefined ? -1 : bytes.indexOf(before);
      if (at >= 0) bytes.write(after, at);
      near.write(bytes);
    });
    for (const socket of [near, far]) {
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        near.destroy();
        far.destroy();
        this.sockets.delete(socket);
      });
    }
  }

  close() {
    for (const socket of this.sockets) socket.destroy();
    this.server.closeAllConnections();
    this.server.close();
  }
}
