// Keeps the page itself, so that it opens while the server is away. Nothing of a session is ever kept here:
// what lies under /api goes to the server and nowhere else.

const CACHE = "osier-shell-1";

self.addEventListener("install", (event) => event.waitUntil(fill().then(() => self.skipWaiting())));

self.addEventListener("activate", (event) => event.waitUntil(tidy().then(() => self.clients.claim())));

self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url);
  if (event.request.method !== "GET" || url.origin !== location.origin || url.pathname.startsWith("/api/")) return;
  event.respondWith(answer(event.request, url));
});

/** Every file of the page, as the server lists them. */
async function fill() {
  const cache = await caches.open(CACHE);
  const files = await (await fetch("/shell.json", { cache: "no-store" })).json();
  await cache.addAll(files.map((file) => new Request(file, { cache: "reload" })));
}

async function tidy() {
  for (const name of await caches.keys()) if (name !== CACHE) await caches.delete(name);
}

/** From the server while it is there, so that a newer osier has its newer page; otherwise what was kept. */
async function answer(request, url) {
  const cache = await caches.open(CACHE);
  const key = request.mode === "navigate" ? "/" : url.pathname;
  try {
    const response = await fetch(request);
    if (response.ok) await cache.put(key, response.clone());
    return response;
  } catch (error) {
    const kept = await cache.match(key);
    if (kept) return kept;
    throw error;
  }
}
