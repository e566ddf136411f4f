// Requests go out as the app made them, and every kind of answer comes back.

import otherOrigin from "/other-origin.js";
import { check, events } from "../tools.js";

/** What the server got of a request, without what browsers add by themselves. */
async function got(t, name) {
  const { method, headers, body } = await t.log("", name);
  const own = headers.filter(([header]) => !/^(accept|sec-|user-agent|host|connection|origin|referer|priority|dnt|pragma|cache-control|content-length|te$|upgrade)/.test(header));
  return [method, own, body];
}

const echoed = (name, method, init, expect) =>
  check(`a request with ${name} is sent as it is`, expect, async (t) => {
    await t.open("event", { method, ...init() });
    return got(t);
  });

const FORM = "application/x-www-form-urlencoded;charset=UTF-8";
const CORS = { headers: { "access-control-allow-origin": "*" } };

export default [
  check("a GET is sent without a header of ours", ["GET", [], ""], async (t) => {
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
  check("a FormData is sent as it is", [true, true], async (t) => {
    const body = new FormData();
    body.append("a", "b");
    await t.open("event", { method: "POST", body });
    const [, [[, type]], sent] = await got(t);
    return [type.startsWith("multipart/form-data; boundary="), sent.includes('name="a"\r\n\r\nb\r\n')];
  }),
  check("a body of 1 MiB is sent whole", 1048576, async (t) => {
    await t.open("event", { method: "POST", body: "x".repeat(1048576) });
    return (await t.log()).body.length;
  }),
  check("a stream as body goes as far as natively", "rejects TypeError", async (t) => {
    const body = new ReadableStream({ start: (to) => (to.enqueue(new Uint8Array([104])), to.close()) });
    return t.how(() => t.open("event", { method: "POST", body, duplex: "half" }));
  }, { differs: { Firefox: "resolves", WebKit: "rejects NotSupportedError" } }),
  check("a Request is sent as it is, and used up", ["POST", [["content-type", "text/plain;charset=UTF-8"], ["x-a", "b"]], "hi", true], async (t) => {
    const request = new Request(t.play("event"), { method: "POST", body: "hi", headers: { "x-a": "b" } });
    const { body } = await fetch(request);
    return [...(await got(t)), request.bodyUsed && !!body];
  }),
  check("a Request with an init is overridden by it", ["PUT", [["content-type", "text/plain;charset=UTF-8"]], "new"], async (t) => {
    await fetch(new Request(t.play("event"), { method: "POST", body: "old" }), { method: "PUT", body: "new" });
    return got(t);
  }),
  check("a used Request is refused", "rejects TypeError", async (t) => {
    const request = new Request(t.play("event"), { method: "POST", body: "hi" });
    await fetch(request);
    return t.how(() => fetch(request));
  }),
  check("a URL object and an object with toString are addresses", [events(1), events(1)], async (t) => {
    const address = t.play("event");
    const url = await fetch(new URL(address, location.href));
    const other = await fetch({ toString: () => address });
    return [await url.text(), await other.text()];
  }),
  check("an address is turned into text once", 1, async (t) => {
    let times = 0;
    await fetch({ toString: () => (times++, t.play("event")) });
    return times;
  }),
  check("one call is one request", [1, 1], async (t) => {
    await (await t.open("event")).text();
    await (await fetch(t.play("event", {}, "b"), { method: "POST", body: '{"stream":true}' })).text();
    await t.settle();
    return [(await t.log()).requests, (await t.log("", "b")).requests];
  }),
  check("HEAD has an answer without a body", [200, "text/event-stream", ""], async (t) => {
    const response = await t.open("event", { method: "HEAD" });
    return [response.status, response.headers.get("content-type"), await response.text()];
  }),
  ...[204, 205, 304].map((status) =>
    check(`status ${status} has no body`, [status, "no body", ""], async (t) => {
      const response = await t.open("", { cache: "no-store" }, { status });
      return [response.status, response.body ? "a body" : "no body", await response.text()];
    }, { differs: { Chromium: [status, "a body", ""], Firefox: [status, "a body", ""], WebKit: [status, "a body", ""] } }),
  ),
  ...[400, 429, 500, 503].map((status) =>
    check(`status ${status} can be read like any other`, [false, status, events(1)], async (t) => {
      const response = await t.open("event", { method: "POST", body: '{"stream":true}' }, { status });
      return [response.ok, response.status, await t.read(response.body)];
    }),
  ),
  check("a refusal that is JSON can be read as such", { n: 1 }, async (t) => {
    const parameters = { status: 429, type: "application/json" };
    return (await t.open("hex=7b226e223a317d", { method: "POST", body: '{"stream":true}' }, parameters)).json();
  }),
  check("a redirect is followed and visible", [true, true, events(1)], async (t) => {
    const location = t.play("event", {}, "b");
    const response = await t.open("", {}, { status: 302, headers: { location } });
    return [response.redirected, response.url.endsWith(location), await response.text()];
  }),
  check("a redirected POST keeps its body", ["POST", "hi"], async (t) => {
    const location = t.play("event", {}, "b");
    await t.open("", { method: "POST", body: "hi" }, { status: 307, headers: { location } });
    const { method, body } = await t.log("", "b");
    return [method, body];
  }),
  check("a redirect that is not to be followed is opaque", ["opaqueredirect", 0, "no body"], async (t) => {
    const parameters = { status: 302, headers: { location: "/" } };
    const { type, status, body } = await t.open("", { redirect: "manual" }, parameters);
    return [type, status, body ? "a body" : "no body"];
  }, { differs: { WebKit: ["opaqueredirect", 0, "a body"] } }),
  check("a redirect that is an error fails the call", "rejects TypeError", async (t) =>
    t.how(() => t.open("", { redirect: "error" }, { status: 302, headers: { location: "/" } }))),
  check("an opaque answer stays opaque", ["opaque", 0, "", null, ""], async (t) => {
    const response = await fetch(otherOrigin + t.play("event"), { mode: "no-cors" });
    return [response.type, response.status, response.url, response.body, await response.text()];
  }),
  check("a response of another origin can be read if CORS allows it", ["cors", events(2)], async (t) => {
    const response = await fetch(otherOrigin + t.play("event event", CORS));
    return [response.type, await t.read(response.body)];
  }),
  check("a response of another origin is refused without CORS", "rejects TypeError", async (t) =>
    t.how(() => fetch(otherOrigin + t.play("event")))),
  check("a call to another origin needs no additional preflight", ["GET", 1], async (t) => {
    await (await fetch(otherOrigin + t.play("event", CORS))).text();
    const { method, requests } = await t.log();
    return [method, requests];
  }),
  check("a body that does not match its digest fails", "rejects TypeError", async (t) => {
    const integrity = `sha256-${"A".repeat(43)}=`;
    return t.how(() => t.open("event", { integrity }));
  }),
  check("keepalive calls are answered", events(1), async (t) =>
    (await t.open("event", { method: "POST", body: "hi", keepalive: true })).text()),
  check("a data address is answered", "hi", async () => (await fetch("data:text/event-stream,hi")).text()),
  check("a blob address is answered", "hi", async (t) => {
    const url = URL.createObjectURL(new Blob(["hi"], { type: "text/event-stream" }));
    return t.read((await fetch(url)).body);
  }),
];
