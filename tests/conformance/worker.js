// A service worker. It forwards `/worker/play/…` to the server's `/play/…`, and responds to `/worker/made` with a stream
// that it makes itself.

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (event) => {
  const { pathname, search } = new URL(event.request.url);
  if (pathname.startsWith("/worker/play/")) event.respondWith(fetch(pathname.replace("/worker", "") + search));
  if (pathname == "/worker/made") event.respondWith(made());
});

function made() {
  const parts = ["data: one\n\n", "data: two\n\n"].map((part) => new TextEncoder().encode(part));
  const body = new ReadableStream({
    pull: (to) => (parts.length ? to.enqueue(parts.shift()) : to.close()),
  });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}
