// Caches the files of the page, so that it opens without the server. Requests below /api are never cached.

const CACHE = "osier-shell-2";

self.addEventListener("install", (event) => event.waitUntil(fill().then(() => self.skipWaiting())));

self.addEventListener("activate", (event) => event.waitUntil(tidy().then(() => self.clients.claim())));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin || url.pathname.startsWith("/api/")) return;
  event.respondWith(answer(event.request, url));
});

/** Caches every file in the server's list. */
async function fill() {
  const cache = await caches.open(CACHE);
  const files = await (await fetch("/shell.json", { cache: "no-store" })).json();
  await cache.addAll(files.map((file) => new Request(file, { cache: "reload" })));
}

async function tidy() {
  for (const name of await caches.keys()) if (name !== CACHE) await caches.delete(name);
}

/** Time that the server has to answer before the cache does, in milliseconds. */
const PATIENCE = 400;
/** Time after such a wait in which the cache answers at once. */
const HURRY = 10_000;
let lastWait = -HURRY;

/** Prefers the server, so that a new version is shown; without an answer in time, uses the cache. */
async function answer(request, url) {
  const cache = await caches.open(CACHE);
  const key = request.mode === "navigate" ? "/" : url.pathname;
  const loading = fetch(request).then(async (response) => {
    if (response.ok) await cache.put(key, response.clone());
    return response;
  });
  const stored = await cache.match(key);
  if (!stored) return loading;
  if (performance.now() - lastWait < HURRY) return (loading.catch(() => {}), stored);
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE));
  return Promise.race([loading.catch(() => stored), late.then(() => ((lastWait = performance.now()), stored))]);
}
