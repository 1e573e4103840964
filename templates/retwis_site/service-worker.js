// While the device is offline, this shows one page that says so. It keeps that page and static files, and nothing else:
// what people read on the site never stays here. Everything is asked of the network first.
"use strict";
const { scope, page, files, version } = {{ told|safe }};
const own = `retwis:${scope}:`; // sites on one host have one storage
const cacheName = own + version;

self.addEventListener("install", (event) => {
  const fill = async () => {
    const cache = await caches.open(cacheName);
    await cache.addAll([page, ...files]);
    await self.skipWaiting();
  };
  event.waitUntil(fill());
});

self.addEventListener("activate", (event) => {
  const removeOld = async () => {
    const names = await caches.keys();
    await Promise.all(names.filter((name) => name.startsWith(own) && name !== cacheName).map((name) => caches.delete(name)));
  };
  event.waitUntil(removeOld());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isFile = files.includes(new URL(request.url).pathname);
  if (request.method !== "GET" || (request.mode !== "navigate" && !isFile)) return;
  const kept = async () => (await caches.match(isFile ? request : page, { cacheName, ignoreVary: true })) ?? Response.error();
  event.respondWith(fetch(request).catch(kept));
});
