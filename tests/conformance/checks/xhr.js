// XMLHttpRequest: the object, its text as it grows, its events, and its ends.

import { check, events, hexed } from "../tools.js";

/** Asks as an app would; the events that it hears are told by what they are and how much has come. */
function asked(address, { method = "GET", body, set = () => {} } = {}) {
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

/** Until so much text is there. */
const grown = (request, length) =>
  new Promise((resolve) => {
    const look = () => request.responseText.length >= length && resolve();
    request.addEventListener("progress", look);
    look();
  });

export default [
  check("XMLHttpRequest has the same shape", ["XMLHttpRequest", 0, [0, 1, 2, 3, 4], "function"], () => [
    XMLHttpRequest.name,
    XMLHttpRequest.length,
    ["UNSENT", "OPENED", "HEADERS_RECEIVED", "LOADING", "DONE"].map((name) => XMLHttpRequest[name]),
    typeof XMLHttpRequest,
  ]),
  check("a request is an instance of it, and of nothing else", [true, true, true, "[object XMLHttpRequest]", []], () => {
    const request = new XMLHttpRequest();
    const { prototype } = XMLHttpRequest;
    return [request instanceof XMLHttpRequest, request.constructor == XMLHttpRequest, Object.getPrototypeOf(request) == prototype, `${request}`, Object.keys(request)];
  }),
  check("a request's methods keep their names and lengths", ["open 2", "send 0", "setRequestHeader 2", "abort 0"], () => {
    const request = new XMLHttpRequest();
    return ["open", "send", "setRequestHeader", "abort"].map((name) => `${request[name].name} ${request[name].length}`);
  }),
  check("a class may extend XMLHttpRequest", [true, events(1)], async (t) => {
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
  check("the text grows as it comes, and is whole in the end", [events(1), events(2)], async (t) => {
    const { request, over } = asked(t.play("event gate event"));
    await grown(request, events(1).length);
    const first = request.responseText;
    await t.go();
    await over;
    return [first, request.responseText];
  }),
  check("a character that is cut in two comes whole", [events(1), `${events(1)}é`], async (t) => {
    const { request, over } = asked(t.play("event hex=c3 gate hex=a9"));
    await grown(request, events(1).length);
    const first = request.responseText;
    await t.go();
    await over;
    return [first, request.responseText];
  }),
  check("a request's events come in their order", ["loadstart 0", "load 200", "loadend 200"], async (t) => {
    const { seen, over } = asked(t.play("event event"));
    await over;
    return seen;
  }),
  check("a refusal is an answer", ["loadstart 0", "load 500", "loadend 500", "text/event-stream"], async (t) => {
    const { request, seen, over } = asked(t.play("event", { status: 500 }));
    await over;
    return [...seen, request.getResponseHeader("content-type")];
  }),
  check("a request body arrives unchanged", ["POST", '{"stream":true}', "text/event-stream"], async (t) => {
    const set = (request) => request.setRequestHeader("Accept", "text/event-stream");
    await asked(t.play("event"), { method: "POST", body: '{"stream":true}', set }).over;
    const { method, body, headers } = await t.log();
    return [method, body, Object.fromEntries(headers).accept];
  }),
  check("abort() closes the connection", ["loadstart 0", "abort 0", "loadend 0", "client_closed"], async (t) => {
    const { request, seen } = asked(t.play("drip"));
    await grown(request, 1);
    request.abort();
    return [...seen, await t.end()];
  }),
  check("a timeout closes the connection", ["loadstart 0", "timeout 0", "loadend 0", "client_closed"], async (t) => {
    for (let ms = 150; ; ms *= 2) {
      const { seen, over } = asked(t.play("drip", {}, ms), { set: (request) => (request.timeout = ms) });
      await over;
      // Where the machine halts, the time may be over before the server knows of the request.
      if ((await t.log("", ms)).requests) return [...seen, await t.end(ms)];
    }
  }),
  check("a reset connection is an error", ["loadstart 0", "error 0", "loadend 0"], async (t) => {
    const { seen, over } = asked(t.play("event gate reset"));
    await t.go();
    await over;
    return seen;
  }),
  check("a request can be used again", [events(1), events(2)], async (t) => {
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
  check("opening anew drops what was under way", ["client_closed", events(2)], async (t) => {
    const { request } = asked(t.play("drip"));
    await grown(request, 1);
    request.open("GET", t.play("event event", {}, "b"));
    request.send();
    await new Promise((resolve) => (request.onload = resolve));
    return [await t.end(), request.responseText];
  }),
  check("other response types are served", [events(1).length, { n: 1 }, events(1).length, "throws InvalidStateError"], async (t) => {
    const [buffer, json, blob] = ["arraybuffer", "json", "blob"].map((type, at) =>
      asked(at == 1 ? t.play(hexed('{"n":1}')) : t.play("event"), { set: (request) => (request.responseType = type) }));
    await Promise.all([buffer.over, json.over, blob.over]);
    const text = await t.how(() => buffer.request.responseText);
    return [buffer.request.response.byteLength, json.request.response, blob.request.response.size, text];
  }),
  check("a request that does not wait is served", events(2), (t) => {
    const request = new XMLHttpRequest();
    request.open("GET", t.play("event event"), false);
    request.send();
    return request.responseText;
  }),
  check("misuse is refused", ["throws InvalidStateError", "throws SyntaxError", "throws TypeError", "throws InvalidStateError"], async (t) => {
    const request = new XMLHttpRequest();
    const sent = asked(t.play("event"));
    const hows = [
      await t.how(() => request.send()),
      await t.how(() => request.open("GET", "http://[")),
      await t.how(() => request.open("GET")),
      await t.how(() => sent.request.send()),
    ];
    await sent.over;
    return hows;
  }),
];
