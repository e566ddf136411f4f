// EventSource: the object, the order of its events, its end, and reconnection.

import { check, hexed } from "../tools.js";

/** Records events of these types, up to and including the first for which `last` returns true. */
function recordEvents(source, types, last) {
  const seen = [];
  return new Promise((resolve) => {
    for (const type of types)
      source.addEventListener(type, (event) => {
        seen.push(`${event.type} ${event.data ?? source.readyState}`);
        if (!last(event)) return;
        source.close();
        resolve(seen);
      });
  });
}

const once = (source, type) => new Promise((resolve) => source.addEventListener(type, resolve, { once: true }));
const TYPES = ["open", "message", "delta", "error"];
const BROKEN = "hex=64617461";

export default [
  check("EventSource keeps its name, length and constants", ["EventSource", 1, [0, 1, 2], "length,name,prototype,CONNECTING,OPEN,CLOSED", "function"], () => [
    EventSource.name,
    EventSource.length,
    [EventSource.CONNECTING, EventSource.OPEN, EventSource.CLOSED],
    `${Object.getOwnPropertyNames(EventSource)}`,
    typeof EventSource,
  ]),
  check("an EventSource has only native properties", [true, true, true, "[object EventSource]", []], (t) => {
    const source = new EventSource(t.play("hold"));
    source.close();
    const { prototype } = EventSource;
    return [source instanceof EventSource, source.constructor == EventSource, Object.getPrototypeOf(source) == prototype, `${source}`, Object.keys(source)];
  }),
  check("EventSource() without new throws", "throws TypeError", (t) => t.outcome(() => EventSource("/"))),
  check("new EventSource() throws without a valid URL", ["throws TypeError", "throws SyntaxError"], async (t) => [
    await t.outcome(() => new EventSource()),
    await t.outcome(() => new EventSource("http://[")),
  ]),
  check("a class can extend EventSource", [true, 1, 2], (t) => {
    class Chat extends EventSource {
      turn = 1;
      close() {
        super.close();
        this.turn++;
      }
    }
    const chat = new Chat(t.play("hold"));
    const { turn } = chat;
    chat.close();
    return [chat instanceof Chat && chat.readyState == 2, turn, chat.turn];
  }),
  check("events arrive in order, each under its own type", ["open 1", 'message {"n":1}', "delta a\nb", 'message {"n":2}', "delta last"], async (t) => {
    const named = hexed("event: delta\ndata: a\ndata: b\n\n: comment\n\nevent: unheard\ndata: x\n\n");
    const source = new EventSource(t.play(`event ${named} event ${hexed("event: delta\ndata: last\n\n")} hold`));
    return recordEvents(source, TYPES, ({ data }) => data == "last");
  }),
  check("the server can send an event of type error", ["open 1", "error mine", 'message {"n":1}'], async (t) => {
    const source = new EventSource(t.play(`${hexed("event: error\ndata: mine\n\n")} event hold`));
    return recordEvents(source, TYPES, ({ type }) => type == "message");
  }),
  check("listeners run in the order in which they were added", ["one", "on", "two", "three"], async (t) => {
    const source = new EventSource(t.play("event hold"));
    const seen = [];
    source.addEventListener("message", () => seen.push("one"));
    source.onmessage = () => seen.push("on");
    source.addEventListener("message", { handleEvent: () => seen.push("two") });
    await new Promise((resolve) => source.addEventListener("message", () => resolve(seen.push("three"))));
    source.close();
    return seen;
  }),
  check("removed listeners do not run, and once-listeners run once", ["once", "last", "last"], async (t) => {
    const source = new EventSource(t.play("event event hold"));
    const seen = [];
    const removed = () => seen.push("removed");
    source.addEventListener("message", removed);
    source.removeEventListener("message", removed);
    source.addEventListener("message", () => seen.push("once"), { once: true });
    await new Promise((resolve) => source.addEventListener("message", () => seen.push("last") == 3 && resolve()));
    source.close();
    return seen;
  }),
  check("an event has its source as target and is trusted", [true, true, true, "7"], async (t) => {
    const source = new EventSource(t.play(`${hexed("id: 7\ndata: x\n\n")} hold`));
    const event = await new Promise((resolve) => {
      source.onmessage = (event) => resolve([event.target == source, event.currentTarget == source, event.isTrusted, event.lastEventId]);
    });
    source.close();
    return event;
  }),
  check("close() closes the connection", [2, "client_closed"], async (t) => {
    const source = new EventSource(t.play("drip"));
    await once(source, "message");
    source.close();
    return [source.readyState, await t.connectionEnd()];
  }),
  check("close() in a listener closes the connection", "client_closed", async (t) => {
    const source = new EventSource(t.play("drip"));
    source.onmessage = () => source.close();
    return t.connectionEnd();
  }),
  check("status 500 fires error and closes the source", ["error 2"], async (t) =>
    recordEvents(new EventSource(t.play("event", { status: 500 })), TYPES, () => true)),
  check("a wrong content type fires error and closes the source", ["error 2"], async (t) =>
    recordEvents(new EventSource(t.play("event", { type: "text/plain" })), TYPES, () => true)),
  check("a source reconnects with its last id after the end", ["open 1", "message x", "error 0", "open 1", "message x", 2, "7"], async (t) => {
    const source = new EventSource(t.play(hexed("retry: 10\nid: 7\ndata: x\n\n")));
    let messages = 0;
    const seen = await recordEvents(source, TYPES, ({ type }) => type == "message" && ++messages == 2);
    const { requests, headers } = await t.serverLog();
    return [...seen, requests, Object.fromEntries(headers)["last-event-id"]];
  }),
  check("an incomplete event is not dispatched", ["open 1", 'message {"n":1}', "error 0"], async (t) =>
    recordEvents(new EventSource(t.play(`event ${BROKEN}`)), TYPES, ({ type }) => type == "error")),
  check("an EventSource exposes url and withCredentials", [true, true, false], (t) => {
    const [one, two] = [new EventSource(t.play("hold"), { withCredentials: true }), new EventSource(t.play("hold"))];
    one.close();
    two.close();
    return [one.url.endsWith(t.play("hold")), one.withCredentials, two.withCredentials];
  }),
  check("listeners receive events that the app dispatches", ["message", "mine"], (t) => {
    const source = new EventSource(t.play("hold"));
    const seen = [];
    source.onmessage = ({ type }) => seen.push(type);
    source.addEventListener("mine", ({ type }) => seen.push(type));
    for (const event of [new MessageEvent("message", { data: new Uint8Array(1) }), new CustomEvent("mine")]) source.dispatchEvent(event);
    source.close();
    return seen;
  }),
];
