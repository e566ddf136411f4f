// Where the user is: what is told of the browser and of the path, and what is not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { describer, routeOf } from "../js/page.js";

/** What a page in this browser says of itself. */
function described(userAgent, maxTouchPoints = 0, options = {}, more = {}) {
  Object.defineProperty(globalThis, "navigator", { value: { userAgent, maxTouchPoints, ...more }, configurable: true });
  globalThis.location = { pathname: "/chat/42" };
  return describer(options)("m-1");
}

test("a route keeps words and no ids", () => {
  const cases = {
    "/": "/",
    "/chat/": "/chat",
    "/v1/chat": "/v1/chat",
    "/chat/9f86d081884c7d659a2feaa0c55ad015": "/chat/:id",
    "/chat/3f2504e0-4f89-11d3-9a0c-0305e82c3301/edit": "/chat/:id/edit",
    "/u/42": "/u/:id",
    "/u/someone@example.org": "/u/:id",
    "/t/Vh3kQzLm": "/t/:id",
    "/a%20b": "/:id",
    "/a-word-of-24-letters-long": "/:id",
    "/a-word-of-24-letters-max": "/a-word-of-24-letters-max",
    "/a/b/c/d/e/f/g/h": "/a/b/c/d/e/f",
  };
  for (const [path, route] of Object.entries(cases)) assert.equal(routeOf(path), route, path);
});

test("a browser is known by the first name that is its own", () => {
  const mac = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 Version/18.0 Safari/605.1.15";
  const cases = [
    ["Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/150.0.0.0 Safari/537.36", 0, "chrome linux desktop"],
    ["Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/150.0 Safari/537.36 Edg/150.0", 10, "edge windows desktop"],
    ["Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/150.0 Mobile Safari/537.36", 5, "chrome android mobile"],
    ["Mozilla/5.0 (Android 15; Tablet; rv:150.0) Gecko/150.0 Firefox/150.0", 5, "firefox android tablet"],
    ["Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 CriOS/150.0 Mobile/15E148 Safari/604.1", 5, "chrome ios mobile"],
    [mac, 0, "safari macos desktop"],
    [mac, 5, "safari ios tablet"],
  ];
  for (const [agent, touch, expected] of cases) {
    const { browser, os, device } = described(agent, touch).page;
    assert.equal([browser, os, device].join(" "), expected, agent);
  }
  assert.deepEqual(described("something else").page, {
    browser: undefined,
    os: undefined,
    device: undefined,
    connection: undefined,
    release: undefined,
    route: "/chat/:id",
  });
});

test("what the page said goes into every report", () => {
  const said = described("", 0, { useCase: 'ch\u00e9"t', release: "1.2" }, { connection: { effectiveType: "4g" } });
  const { page, ...more } = JSON.parse(JSON.stringify(said));
  assert.deepEqual(more, { use_case: 'ch\u00e9"t', model: "m-1" });
  assert.deepEqual(page, { connection: "4g", release: "1.2", route: "/chat/:id" });
});
