// Requests reach the server unchanged, and every kind of response reaches the app.

import otherOrigin from "/other-origin.js";
import { check, events } from "../tools.js";

/** The request as the server saw it, without the headers that browsers add. */
async function got(t, name) {
  const { method, headers, body } = await t.serverLog("", name);
  const own = headers.filter(([header]) => !/^(accept|sec-|user-agent|host|connection|origin|referer|priority|dnt|pragma|cache-control|content-length|te$|upgrade)/.test(header));
  return [method, own, body];
}

const echoed = (name, method, init, expect) =>
  check(`a request with ${name} reaches the server unchanged`, expect, async (t) => {
    await t.open("event", { method, ...init() });
    return got(t);
  });

const FORM = "application/x-www-form-urlencoded;charset=UTF-8";
const CORS = { headers: { "access-control-allow-origin": "*" } };

export default [
  check("a GET request has no additional header", ["GET", [], ""], async (t) => {
    await t.open("event");
    return got(t);
  }),
  echoed("a text body", "POST", () => ({ body: '{"stream":true}' }), ["POST", [["content-type", "text/plain;charset=UTF-8"]], '{"stream":true}']),
  echoed("JSON and headers", "POST", () => ({ body: "{}", headers: { "content-type": "application/json", "x-api-key": "k" } }), ["POST", [["content-type", "application/json"], ["x-api-key", "k"]], "{}"]),
  echoed("a Headers object", "POST", () => ({ body: "{}", headers: new Headers({ "x-a": "b" }) }), ["POST", [["content-type", "text/plain;charset=UTF-8"], ["x-a", "b"]], "{}"]),
  echoed("a list of headers", "GET", () => ({ headers: [["x-a", "b"], ["x-a", "c"]] }), ["GET", [["x-a", "b, c"]], ""]),
  echoed("an iterable of headers that can be read once", "GET", () => ({ headers: [["x-a", "b"]][Symbol.iterator]() }), ["GET", [["x-a", "b"]], ""]),
  echoed("a Blob", "PUT", () => ({ body: new Blob(["blob"], { type: "text/css" }) }), ["PUT", [["content-type", "text/css"]], "blob"]),
  echoed("bytes", "POST", () => ({ body: new Uint8Array([104, 105]) }), ["POST", [], "hi"]),
  echoed("URLSearchParams", "POST", () => ({ body: new URLSearchParams({ a: "b" }) }), ["POST", [["content-type", FORM]], "a=b"]),
  check("a FormData body reaches the server unchanged", [true, true], async (t) => {
    const body = new FormData();
    body.append("a", "b");
    await t.open("event", { method: "POST", body });
    const [, [[, type]], sent] = await got(t);
    return [type.startsWith("multipart/form-data; boundary="), sent.includes('name="a"\r\n\r\nb\r\n')];
  }),
  check("a body of 1 MiB reaches the server intact", 1048576, async (t) => {
    await t.open("event", { method: "POST", body: "x".repeat(1048576) });
    return (await t.serverLog()).body.length;
  }),
  check("a request with a stream as body behaves as it does natively", "rejects TypeError", async (t) => {
    const body = new ReadableStream({ start: (to) => (to.enqueue(new Uint8Array([104])), to.close()) });
    return t.outcome(() => t.open("event", { method: "POST", body, duplex: "half" }));
  }, { differs: { Firefox: "resolves", WebKit: "rejects NotSupportedError" } }),
  check("a Request reaches the server unchanged and becomes used", ["POST", [["content-type", "text/plain;charset=UTF-8"], ["x-a", "b"]], "hi", true], async (t) => {
    const request = new Request(t.play("event"), { method: "POST", body: "hi", headers: { "x-a": "b" } });
    const { body } = await fetch(request);
    return [...(await got(t)), request.bodyUsed && !!body];
  }),
  check("an init overrides the fields of a Request", ["PUT", [["content-type", "text/plain;charset=UTF-8"]], "new"], async (t) => {
    await fetch(new Request(t.play("event"), { method: "POST", body: "old" }), { method: "PUT", body: "new" });
    return got(t);
  }),
  check("fetch refuses a used Request", "rejects TypeError", async (t) => {
    const request = new Request(t.play("event"), { method: "POST", body: "hi" });
    await fetch(request);
    return t.outcome(() => fetch(request));
  }),
  check("fetch accepts a URL object and an object with toString", [events(1), events(1)], async (t) => {
    const address = t.play("event");
    const url = await fetch(new URL(address, location.href));
    const other = await fetch({ toString: () => address });
    return [await url.text(), await other.text()];
  }),
  check("fetch calls toString of the address once", 1, async (t) => {
    let times = 0;
    await fetch({ toString: () => (times++, t.play("event")) });
    return times;
  }),
  check("one call makes one request", [1, 1], async (t) => {
    await (await t.open("event")).text();
    await (await fetch(t.play("event", {}, "b"), { method: "POST", body: '{"stream":true}' })).text();
    await t.settle();
    return [(await t.serverLog()).requests, (await t.serverLog("", "b")).requests];
  }),
  check("a HEAD request gets a response without a body", [200, "text/event-stream", ""], async (t) => {
    const response = await t.open("event", { method: "HEAD" });
    return [response.status, response.headers.get("content-type"), await response.text()];
  }),
  ...[204, 205, 304].map((status) =>
    check(`a response with status ${status} has no body`, [status, "no body", ""], async (t) => {
      const response = await t.open("", { cache: "no-store" }, { status });
      return [response.status, response.body ? "a body" : "no body", await response.text()];
    }, { differs: { Chromium: [status, "a body", ""], Firefox: [status, "a body", ""], WebKit: [status, "a body", ""] } }),
  ),
  ...[400, 429, 500, 503].map((status) =>
    check(`the app can read a response with status ${status}`, [false, status, events(1)], async (t) => {
      const response = await t.open("event", { method: "POST", body: '{"stream":true}' }, { status });
      return [response.ok, response.status, await t.readAll(response.body)];
    }),
  ),
  check("json() returns the body of a response with status 429", { n: 1 }, async (t) => {
    const parameters = { status: 429, type: "application/json" };
    return (await t.open("hex=7b226e223a317d", { method: "POST", body: '{"stream":true}' }, parameters)).json();
  }),
  check("fetch follows a redirect and exposes it", [true, true, events(1)], async (t) => {
    const location = t.play("event", {}, "b");
    const response = await t.open("", {}, { status: 302, headers: { location } });
    return [response.redirected, response.url.endsWith(location), await response.text()];
  }),
  check("a redirected POST keeps its body", ["POST", "hi"], async (t) => {
    const location = t.play("event", {}, "b");
    await t.open("", { method: "POST", body: "hi" }, { status: 307, headers: { location } });
    const { method, body } = await t.serverLog("", "b");
    return [method, body];
  }),
  check("a redirect with redirect: manual returns an opaque response", ["opaqueredirect", 0, "no body"], async (t) => {
    const parameters = { status: 302, headers: { location: "/" } };
    const { type, status, body } = await t.open("", { redirect: "manual" }, parameters);
    return [type, status, body ? "a body" : "no body"];
  }, { differs: { WebKit: ["opaqueredirect", 0, "a body"] } }),
  check("a redirect with redirect: error fails the call", "rejects TypeError", async (t) =>
    t.outcome(() => t.open("", { redirect: "error" }, { status: 302, headers: { location: "/" } }))),
  check("an opaque response stays opaque", ["opaque", 0, "", null, ""], async (t) => {
    const response = await fetch(otherOrigin + t.play("event"), { mode: "no-cors" });
    return [response.type, response.status, response.url, response.body, await response.text()];
  }),
  check("the app can read another origin's response with CORS", ["cors", events(2)], async (t) => {
    const response = await fetch(otherOrigin + t.play("event event", CORS));
    return [response.type, await t.readAll(response.body)];
  }),
  check("fetch refuses a response of another origin without CORS", "rejects TypeError", async (t) =>
    t.outcome(() => fetch(otherOrigin + t.play("event")))),
  check("a call to another origin needs no additional preflight", ["GET", 1], async (t) => {
    await (await fetch(otherOrigin + t.play("event", CORS))).text();
    const { method, requests } = await t.serverLog();
    return [method, requests];
  }),
  check("a body that does not match its digest fails the call", "rejects TypeError", async (t) => {
    const integrity = `sha256-${"A".repeat(43)}=`;
    return t.outcome(() => t.open("event", { integrity }));
  }),
  check("a keepalive request gets its response", events(1), async (t) =>
    (await t.open("event", { method: "POST", body: "hi", keepalive: true })).text()),
  check("a data URL gets its response", "hi", async () => (await fetch("data:text/event-stream,hi")).text()),
  check("a blob URL gets its response", "hi", async (t) => {
    const url = URL.createObjectURL(new Blob(["hi"], { type: "text/event-stream" }));
    return t.readAll((await fetch(url)).body);
  }),
];
