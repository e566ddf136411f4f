// The description of the page: which parts of browser and path are reported, and which are not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { describer, routeOf } from "../../js/page/page-context.js";

/** The description of a page in this browser. */
function described(navigator, options = {}) {
  Object.defineProperty(globalThis, "navigator", { value: navigator, configurable: true });
  globalThis.location = { pathname: "/chat/42" };
  return describer(options)("m-1");
}

test("a route keeps usual words and nothing else", () => {
  const cases = {
    "/": "/",
    "/chat/": "/chat",
    "/app/new": "/app/new",
    "/chat/9f86d081884c7d659a2feaa0c55ad015": "/chat/:id",
    "/chat/3f2504e0-4f89-11d3-9a0c-0305e82c3301/edit": "/chat/:id/:id",
    "/u/42": "/:id/:id",
    "/u/alice.smith": "/:id/:id",
    "/patient/jane_roe": "/:id/:id",
    "/t/abcdefghijklmnopqrstuvwx": "/:id/:id",
    "/chat/jane": "/chat/:id",
    "/Chat": "/:id",
    "/a%20b": "/:id",
    "/c/c/c/c/c/c/c/c": "/c/c/c/c/c/c",
  };
  for (const [path, route] of Object.entries(cases)) assert.equal(routeOf(path), route, path);
});

test("a route keeps the words of the app's own routes", () => {
  const cases = { "/u/alice.smith": "/u/:id", "/v2/patient/jane_roe/": "/v2/patient/:id", "/u": "/u", "/other": "/:id" };
  for (const routes of [["/u/:id", "/v2/patient/:name"], "/u/:id /v2/patient/:name", "/u/:id, /v2/patient/:name"])
    for (const [path, route] of Object.entries(cases)) assert.equal(routeOf(path, routes), route, `${path} ${routes}`);
});

test("the browser is named only where its user agent hides it", () => {
  const cases = [
    // The newest iPads say that they are Macs.
    ["MacIntel", 5, "tablet"],
    ["MacIntel", 0, undefined],
    ["iPhone", 5, undefined],
    ["Linux armv81", 5, undefined],
    ["Win32", 10, undefined],
    // In workers.
    ["MacIntel", undefined, undefined],
  ];
  for (const [platform, maxTouchPoints, device] of cases) {
    const { page } = JSON.parse(JSON.stringify(described({ platform, maxTouchPoints, userAgent: "Firefox" })));
    assert.deepEqual(page, device ? { device, route: "/chat/:id" } : { route: "/chat/:id" }, platform);
  }
});

test("values of the page go into every report", () => {
  const said = described({ connection: { effectiveType: "4g" } }, { useCase: 'ch\u00e9"t', release: "1.2" });
  const { page, ...more } = JSON.parse(JSON.stringify(said));
  assert.deepEqual(more, { use_case: 'ch\u00e9"t', model: "m-1" });
  assert.deepEqual(page, { connection: "4g", release: "1.2", route: "/chat/:id" });
});
