// Keeps what the page is made of, so that it opens without the server. It never touches what is asked of the server itself, and
// asks the network first for the page. A new build drops what older ones kept, and takes over at once.

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
  clients: { claim(): Promise<void> };
}
const scope = self as unknown as Scope;

const PREFIX = "shell-";
const NAME = `${PREFIX}${__BUILD__}`;
const FILES = __FILES__;
const PAGE = "/";
/** A network that swallows everything is not waited for. */
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
  const take = async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== NAME);
    await Promise.all(old.map((name) => caches.delete(name)));
    await scope.clients.claim();
  };
  event.waitUntil(take());
});

scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin || pathname.startsWith("/api/")) return;
  // A frame has a page of its own.
  if (request.mode === "navigate") {
    if (request.destination === "document") event.respondWith(page(request));
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

/** The names of most hold a digest of what is in them: what is kept is right. The others came with this build. */
async function asset(request: Request): Promise<Response> {
  const cache = await caches.open(NAME);
  const kept = await cache.match(request);
  if (kept !== undefined) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}
