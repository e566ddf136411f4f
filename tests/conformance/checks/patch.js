// The function `fetch` itself, and other scripts that patch it before or after the SDK.

import { check, events } from "../tools.js";

/** Patches `fetch` as another SDK would, and records the arguments of each call. */
function patchFetch(calls, around = (result) => result) {
  const inner = window.fetch;
  window.fetch = function (...args) {
    calls.push(args);
    return around(inner.apply(this, args));
  };
}

const earlier = [];

export default [
  check("fetch keeps its name and length", ["fetch", 1], async () => [fetch.name, fetch.length]),
  check("fetch's source text says native code", true, async () =>
    /\{\s*\[native code\]\s*\}$/.test(Function.prototype.toString.call(fetch))),
  check("fetch stays an own property of window with native flags", ["fetch", true, true, true], async () => {
    const { writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(window, "fetch");
    return [Object.keys(window).find((name) => name == "fetch"), writable, enumerable, configurable];
  }),
  check("fetch is no constructor, and has no prototype", ["throws TypeError", false], async (t) => [
    await t.outcome(() => new fetch("/")),
    Object.hasOwn(fetch, "prototype"),
  ]),
  check("fetch works without a receiver, and rejects on a foreign one", [events(1), events(1), "rejects TypeError"], async (t) => {
    const { fetch: alone } = window;
    const one = await alone(t.play("event"));
    const two = await fetch.call(undefined, t.play("event"));
    return [await one.text(), await two.text(), await t.outcome(() => fetch.call({}, t.play("event")))];
  }),
  check("fetch returns a native promise", [true, "Promise"], async (t) => {
    const called = t.open("event");
    await called;
    return [called instanceof Promise, called.constructor.name];
  }),
  check("fetch accepts additional arguments", events(1), async (t) =>
    (await fetch(t.play("event"), undefined, "more")).text()),
  check("a fetch kept from the start works later", events(2), async (t) => {
    const { fetch: kept } = window;
    patchFetch([]);
    return (await kept(t.play("event event"))).text();
  }),
  check("an earlier patcher sees one call with the app's arguments", [1, true, events(1)], async (t) => {
    const address = t.play("event");
    const init = { method: "POST", body: "hi" };
    const response = await fetch(address, init);
    const calls = earlier.filter(([input]) => input === address);
    return [calls.length, calls[0]?.[1] === init, await response.text()];
  }, { before: () => patchFetch(earlier) }),
  check("an earlier patcher can return a Response of its own", ["made", "made"], async (t) => {
    const response = await fetch(`${t.play("event")}&made`);
    const again = response.clone();
    return [await response.text(), await t.readAll(again.body)];
  }, {
    before: () => {
      const inner = window.fetch;
      const made = () => new Response("made", { headers: { "content-type": "text/event-stream" } });
      window.fetch = (input, init) => (`${input}`.endsWith("made") ? Promise.resolve(made()) : inner(input, init));
    },
  }),
  check("an earlier patcher can return an object that is no Response", ["mine", true], async (t) => {
    const response = await fetch(`${t.play("event")}&made`);
    return [await response.text(), response.mine];
  }, {
    before: () => {
      const inner = window.fetch;
      window.fetch = (input, init) =>
        `${input}`.endsWith("made")
          ? Promise.resolve({ mine: true, ok: true, status: 200, text: async () => "mine" })
          : inner(input, init);
    },
  }),
  check("a result that is no Response leaves later ones unchanged", [events(2), "client_closed"], async (t) => {
    await fetch(`${t.play("event")}&made`);
    const text = await (await t.open("event event")).text();
    const { body } = await fetch(t.play("drip", {}, "b"));
    await body.cancel();
    return [text, await t.connectionEnd("b")];
  }, {
    before: () => {
      const inner = window.fetch;
      window.fetch = (input, init) => (`${input}`.endsWith("made") ? Promise.resolve({}) : inner(input, init));
    },
  }),
  check("an earlier patcher can throw synchronously", "throws the reason", async (t) => t.outcome(() => fetch("throw")), {
    before: ({ reason }) => {
      const inner = window.fetch;
      window.fetch = (input, init) => {
        if (input == "throw") throw reason;
        return inner(input, init);
      };
    },
  }),
  check("an earlier patcher can return a value that is no promise", ["returns", 7], async (t) => [await t.outcome(() => fetch("now")), fetch("now")], {
    before: () => {
      const inner = window.fetch;
      window.fetch = (input, init) => (input == "now" ? 7 : inner(input, init));
    },
  }),
  check("a later patcher sees one call with the app's arguments", [1, true, events(1)], async (t) => {
    const calls = [];
    patchFetch(calls);
    const init = { method: "POST", body: "hi" };
    const response = await fetch(t.play("event"), init);
    return [calls.length, calls[0][1] === init, await response.text()];
  }),
  check("a later patcher can read a clone beside the app", [events(3), events(3)], async (t) => {
    let read;
    patchFetch([], (result) => result.then((response) => ((read = response.clone().text()), response)));
    const text = await t.readAll((await t.open("event event event")).body);
    return [text, await read];
  }),
  check("a later patcher can rebuild the response without loss", events(3), async (t) => {
    patchFetch([], (result) => result.then(({ body, status, headers }) => new Response(body, { status, headers })));
    return t.readAll((await t.open("event event event")).body);
  }),
  check("a later patcher can wrap the response in a Proxy", [200, events(1)], async (t) => {
    const around = (response) => new Proxy(response, { get: (target, name) => {
      const value = target[name];
      return typeof value == "function" ? value.bind(target) : value;
    } });
    patchFetch([], (result) => result.then(around));
    const response = await t.open("event");
    return [response.status, await response.text()];
  }),
  check("installing twice changes nothing", [true, 1, events(2), "client_closed"], async (t) => {
    const first = window.fetch;
    t.sdk?.install();
    const same = window.fetch === first;
    const text = await t.readAll((await t.open("event event")).body);
    const { requests } = await t.serverLog();
    const { body } = await fetch(t.play("drip", {}, "b"));
    await body.cancel();
    return [same, requests, text, await t.connectionEnd("b")];
  }, { needs: "install" }),
  check("uninstalling restores the page's fetch", [true, events(1)], async (t) => {
    t.sdk?.uninstall();
    const native = window.fetch === (window.nativeFetch ?? window.fetch);
    return [native, await (await t.open("event")).text()];
  }, { needs: "uninstall", before: () => void (window.nativeFetch = window.fetch) }),
  check("uninstalling during a stream leaves the stream unchanged", events(2), async (t) => {
    const reader = (await t.open("event gate event")).body.getReader();
    const first = await t.firstEvent(reader);
    t.sdk?.uninstall();
    await t.openGate();
    return t.drain(reader, first);
  }, { needs: "uninstall" }),
  check("uninstalling keeps a patcher that was installed later", [true, 1, events(1)], async (t) => {
    const calls = [];
    patchFetch(calls);
    const theirs = window.fetch;
    t.sdk?.uninstall();
    const text = await (await t.open("event")).text();
    return [window.fetch === theirs, calls.length, text];
  }, { needs: "uninstall" }),
  check("installing again after uninstalling works", [events(2), 1], async (t) => {
    t.sdk?.uninstall();
    t.sdk?.install();
    const text = await t.readAll((await t.open("event event")).body);
    return [text, (await t.serverLog()).requests];
  }, { needs: "uninstall" }),
];
