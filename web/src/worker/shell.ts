// Caches the files of the page, so that it opens without the server. It never handles API requests, and tries
// the network first for the page. A new build takes over at once. Files of older builds stay while a window is
// open, because a tab opened before an upgrade may still load them.

/** Both are written in by the build. */
declare const __BUILD__: string;
declare const __FILES__: readonly string[];

interface Lasting extends Event {
  waitUntil(done: Promise<unknown>): void;
}
interface Asked extends Lasting {
  request: Request;
  respondWith(answer: Promise<Response>): void;
}
interface Scope {
  addEventListener(what: "install" | "activate", act: (event: Lasting) => void): void;
  addEventListener(what: "fetch", act: (event: Asked) => void): void;
  skipWaiting(): Promise<void>;
  clients: {
    claim(): Promise<void>;
    matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<readonly unknown[]>;
  };
}
const scope = self as unknown as Scope;

const PREFIX = "shell-";
const NAME = `${PREFIX}${__BUILD__}`;
const FILES = __FILES__;
const PAGE = "/";
/** Timeout for the network, which may swallow requests without an error. */
const PATIENCE = 3_000;

scope.addEventListener("install", (event) => {
  const keep = async () => {
    const cache = await caches.open(NAME);
    await cache.addAll(FILES);
    await cache.add(new Request(PAGE, { cache: "no-cache" }));
    await scope.skipWaiting();
  };
  event.waitUntil(keep());
});

scope.addEventListener("activate", (event) => {
  event.waitUntil(dropOlder().then(() => scope.clients.claim()));
});

/** Deletes the files of older builds, unless a window is open that may need them. */
async function dropOlder(): Promise<void> {
  const windows = await scope.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (windows.length > 0) return;
  const older = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== NAME);
  await Promise.all(older.map((name) => caches.delete(name)));
}

scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin || pathname.startsWith("/api/")) return;
  // A frame has a page of its own.
  if (request.mode === "navigate") {
    if (request.destination !== "document") return;
    event.waitUntil(dropOlder());
    event.respondWith(page(request));
  } else if (pathname.startsWith("/assets/") || FILES.includes(pathname)) event.respondWith(asset(request));
});

async function page(request: Request): Promise<Response> {
  try {
    return await fetch(request, { signal: AbortSignal.timeout(PATIENCE) });
  } catch (error) {
    const kept = await caches.match(PAGE, { cacheName: NAME });
    if (kept === undefined) throw error;
    return kept;
  }
}

/**
 * Returns a file from the cache, or fetches it. Most names contain a content hash, so a cached file of any
 * build is correct. The others belong to this build.
 */
async function asset(request: Request): Promise<Response> {
  const cache = await caches.open(NAME);
  const kept = (await cache.match(request)) ?? (await caches.match(request));
  if (kept !== undefined) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}
