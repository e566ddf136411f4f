// EventSource: the object, its events in their order, its end and its next beginning.

import { check, hexed } from "../tools.js";

/** What a page hears of these types, up to and with the event that `last` takes. */
function heard(source, types, last) {
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
  check("EventSource has the same shape", ["EventSource", 1, [0, 1, 2], "length,name,prototype,CONNECTING,OPEN,CLOSED", "function"], () => [
    EventSource.name,
    EventSource.length,
    [EventSource.CONNECTING, EventSource.OPEN, EventSource.CLOSED],
    `${Object.getOwnPropertyNames(EventSource)}`,
    typeof EventSource,
  ]),
  check("an EventSource is an instance of it, and of nothing else", [true, true, true, "[object EventSource]", []], (t) => {
    const source = new EventSource(t.play("hold"));
    source.close();
    const { prototype } = EventSource;
    return [source instanceof EventSource, source.constructor == EventSource, Object.getPrototypeOf(source) == prototype, `${source}`, Object.keys(source)];
  }),
  check("an EventSource without new is refused", "throws TypeError", (t) => t.how(() => EventSource("/"))),
  check("an EventSource of no address is refused", ["throws TypeError", "throws SyntaxError"], async (t) => [
    await t.how(() => new EventSource()),
    await t.how(() => new EventSource("http://[")),
  ]),
  check("a class may extend EventSource", [true, 1, 2], (t) => {
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
  check("events come in their order, by their names", ["open 1", 'message {"n":1}', "delta a\nb", 'message {"n":2}', "delta last"], async (t) => {
    const named = hexed("event: delta\ndata: a\ndata: b\n\n: comment\n\nevent: unheard\ndata: x\n\n");
    const source = new EventSource(t.play(`event ${named} event ${hexed("event: delta\ndata: last\n\n")} hold`));
    return heard(source, TYPES, ({ data }) => data == "last");
  }),
  check("a server's event may be called error", ["open 1", "error mine", 'message {"n":1}'], async (t) => {
    const source = new EventSource(t.play(`${hexed("event: error\ndata: mine\n\n")} event hold`));
    return heard(source, TYPES, ({ type }) => type == "message");
  }),
  check("listeners are called in the order in which they came", ["one", "on", "two", "three"], async (t) => {
    const source = new EventSource(t.play("event hold"));
    const seen = [];
    source.addEventListener("message", () => seen.push("one"));
    source.onmessage = () => seen.push("on");
    source.addEventListener("message", { handleEvent: () => seen.push("two") });
    await new Promise((resolve) => source.addEventListener("message", () => resolve(seen.push("three"))));
    source.close();
    return seen;
  }),
  check("a listener can be removed, or come once", ["once", "last", "last"], async (t) => {
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
  check("an event is of its source", [true, true, true, "7"], async (t) => {
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
    return [source.readyState, await t.end()];
  }),
  check("close() in a listener closes the connection", "client_closed", async (t) => {
    const source = new EventSource(t.play("drip"));
    source.onmessage = () => source.close();
    return t.end();
  }),
  check("a refusal is an error, and the end", ["error 2"], async (t) =>
    heard(new EventSource(t.play("event", { status: 500 })), TYPES, () => true)),
  check("another content type is an error, and the end", ["error 2"], async (t) =>
    heard(new EventSource(t.play("event", { type: "text/plain" })), TYPES, () => true)),
  check("a source reconnects with its last id after the end", ["open 1", "message x", "error 0", "open 1", "message x", 2, "7"], async (t) => {
    const source = new EventSource(t.play(hexed("retry: 10\nid: 7\ndata: x\n\n")));
    let messages = 0;
    const seen = await heard(source, TYPES, ({ type }) => type == "message" && ++messages == 2);
    const { requests, headers } = await t.log();
    return [...seen, requests, Object.fromEntries(headers)["last-event-id"]];
  }),
  check("an incomplete event is not dispatched", ["open 1", 'message {"n":1}', "error 0"], async (t) =>
    heard(new EventSource(t.play(`event ${BROKEN}`)), TYPES, ({ type }) => type == "error")),
  check("an EventSource says its address and its credentials", [true, true, false], (t) => {
    const [one, two] = [new EventSource(t.play("hold"), { withCredentials: true }), new EventSource(t.play("hold"))];
    one.close();
    two.close();
    return [one.url.endsWith(t.play("hold")), one.withCredentials, two.withCredentials];
  }),
  check("an event that the app makes is heard", ["message", "mine"], (t) => {
    const source = new EventSource(t.play("hold"));
    const seen = [];
    source.onmessage = ({ type }) => seen.push(type);
    source.addEventListener("mine", ({ type }) => seen.push(type));
    for (const event of [new MessageEvent("message", { data: new Uint8Array(1) }), new CustomEvent("mine")]) source.dispatchEvent(event);
    source.close();
    return seen;
  }),
];
