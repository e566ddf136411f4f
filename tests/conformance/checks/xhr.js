// XMLHttpRequest: the object, its growing text, its events, and how it ends.

import { check, events, hexed } from "../tools.js";

/** Sends a request as an app would, and records its events as `TYPE STATUS`. */
function sendRequest(address, { method = "GET", body, set = () => {} } = {}) {
  const request = new XMLHttpRequest();
  const seen = [];
  for (const type of ["loadstart", "load", "error", "abort", "timeout", "loadend"])
    request.addEventListener(type, () => seen.push(`${type} ${request.status}`));
  const over = new Promise((resolve) => request.addEventListener("loadend", resolve));
  request.open(method, address);
  set(request);
  request.send(body);
  return { request, seen, over };
}

/** Resolves when at least `length` characters have arrived. */
const waitForText = (request, length) =>
  new Promise((resolve) => {
    const look = () => request.responseText.length >= length && resolve();
    request.addEventListener("progress", look);
    look();
  });

export default [
  check("XMLHttpRequest keeps its name, length and constants", ["XMLHttpRequest", 0, [0, 1, 2, 3, 4], "function"], () => [
    XMLHttpRequest.name,
    XMLHttpRequest.length,
    ["UNSENT", "OPENED", "HEADERS_RECEIVED", "LOADING", "DONE"].map((name) => XMLHttpRequest[name]),
    typeof XMLHttpRequest,
  ]),
  check("an XMLHttpRequest has only native properties", [true, true, true, "[object XMLHttpRequest]", []], () => {
    const request = new XMLHttpRequest();
    const { prototype } = XMLHttpRequest;
    return [request instanceof XMLHttpRequest, request.constructor == XMLHttpRequest, Object.getPrototypeOf(request) == prototype, `${request}`, Object.keys(request)];
  }),
  check("a request's methods keep their names and lengths", ["open 2", "send 0", "setRequestHeader 2", "abort 0"], () => {
    const request = new XMLHttpRequest();
    return ["open", "send", "setRequestHeader", "abort"].map((name) => `${request[name].name} ${request[name].length}`);
  }),
  check("a class can extend XMLHttpRequest", [true, events(1)], async (t) => {
    class Call extends XMLHttpRequest {
      send(body) {
        super.send(body);
        this.sent = true;
      }
    }
    const request = new Call();
    request.open("GET", t.play("event"));
    request.send();
    await new Promise((resolve) => (request.onload = resolve));
    return [request instanceof Call && request.sent, request.responseText];
  }),
  check("responseText grows with each part and ends intact", [events(1), events(2)], async (t) => {
    const { request, over } = sendRequest(t.play("event gate event"));
    await waitForText(request, events(1).length);
    const first = request.responseText;
    await t.openGate();
    await over;
    return [first, request.responseText];
  }),
  check("a character split over two parts arrives intact", [events(1), `${events(1)}é`], async (t) => {
    const { request, over } = sendRequest(t.play("event hex=c3 gate hex=a9"));
    await waitForText(request, events(1).length);
    const first = request.responseText;
    await t.openGate();
    await over;
    return [first, request.responseText];
  }),
  check("events fire in the native order", ["loadstart 0", "load 200", "loadend 200"], async (t) => {
    const { seen, over } = sendRequest(t.play("event event"));
    await over;
    return seen;
  }),
  check("status 500 fires load and exposes its headers", ["loadstart 0", "load 500", "loadend 500", "text/event-stream"], async (t) => {
    const { request, seen, over } = sendRequest(t.play("event", { status: 500 }));
    await over;
    return [...seen, request.getResponseHeader("content-type")];
  }),
  check("a request body reaches the server unchanged", ["POST", '{"stream":true}', "text/event-stream"], async (t) => {
    const set = (request) => request.setRequestHeader("Accept", "text/event-stream");
    await sendRequest(t.play("event"), { method: "POST", body: '{"stream":true}', set }).over;
    const { method, body, headers } = await t.serverLog();
    return [method, body, Object.fromEntries(headers).accept];
  }),
  check("abort() closes the connection", ["loadstart 0", "abort 0", "loadend 0", "client_closed"], async (t) => {
    const { request, seen } = sendRequest(t.play("drip"));
    await waitForText(request, 1);
    request.abort();
    return [...seen, await t.connectionEnd()];
  }),
  check("a timeout closes the connection", ["loadstart 0", "timeout 0", "loadend 0", "client_closed"], async (t) => {
    for (let ms = 150; ; ms *= 2) {
      const { seen, over } = sendRequest(t.play("drip", {}, ms), { set: (request) => (request.timeout = ms) });
      await over;
      // On a slow machine the timeout may pass before the request arrives. Then try again with a longer one.
      if ((await t.serverLog("", ms)).requests) return [...seen, await t.connectionEnd(ms)];
    }
  }),
  check("a reset connection fires error", ["loadstart 0", "error 0", "loadend 0"], async (t) => {
    const { seen, over } = sendRequest(t.play("event gate reset"));
    await t.openGate();
    await over;
    return seen;
  }),
  check("open() and send() work twice on one object", [events(1), events(2)], async (t) => {
    const request = new XMLHttpRequest();
    const texts = [];
    for (const steps of ["event", "event event"]) {
      request.open("GET", t.play(steps));
      request.send();
      await new Promise((resolve) => (request.onloadend = resolve));
      texts.push(request.responseText);
    }
    return texts;
  }),
  check("open() during a response aborts that response", ["client_closed", events(2)], async (t) => {
    const { request } = sendRequest(t.play("drip"));
    await waitForText(request, 1);
    request.open("GET", t.play("event event", {}, "b"));
    request.send();
    await new Promise((resolve) => (request.onload = resolve));
    return [await t.connectionEnd(), request.responseText];
  }),
  check("each responseType returns its type of response", [events(1).length, { n: 1 }, events(1).length, "throws InvalidStateError"], async (t) => {
    const [buffer, json, blob] = ["arraybuffer", "json", "blob"].map((type, at) =>
      sendRequest(at == 1 ? t.play(hexed('{"n":1}')) : t.play("event"), { set: (request) => (request.responseType = type) }));
    await Promise.all([buffer.over, json.over, blob.over]);
    const text = await t.outcome(() => buffer.request.responseText);
    return [buffer.request.response.byteLength, json.request.response, blob.request.response.size, text];
  }),
  check("a synchronous request returns its response", events(2), (t) => {
    const request = new XMLHttpRequest();
    request.open("GET", t.play("event event"), false);
    request.send();
    return request.responseText;
  }),
  check("wrong calls throw the native errors", ["throws InvalidStateError", "throws SyntaxError", "throws TypeError", "throws InvalidStateError"], async (t) => {
    const request = new XMLHttpRequest();
    const sent = sendRequest(t.play("event"));
    const outcomes = [
      await t.outcome(() => request.send()),
      await t.outcome(() => request.open("GET", "http://[")),
      await t.outcome(() => request.open("GET")),
      await t.outcome(() => sent.request.send()),
    ];
    await sent.over;
    return outcomes;
  }),
];
