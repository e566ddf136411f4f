// Every way of reading a body gives the server's bytes, in the shapes that the specification says.

import { UNSUPPORTED, check, events } from "../tools.js";

const NO_BYOB = { differs: { WebKit: UNSUPPORTED } };
const NO_ITERATION = { differs: { WebKit: UNSUPPORTED } };
const hasIteration = () => Symbol.asyncIterator in ReadableStream.prototype;

function byobReader(body) {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return undefined;
  }
}

async function drainInto(t, body, length) {
  const reader = byobReader(body);
  if (!reader) return UNSUPPORTED;
  return t.drain({ read: () => reader.read(new Uint8Array(length)) });
}

export default [
  check("a reader gives all bytes", events(3), async (t) => t.read((await t.open("event event event")).body)),
  check("a reader's results have the specified shape", [["done", "value"], true, false, { done: true }], async (t) => {
    const reader = (await t.open("event")).body.getReader();
    const first = await reader.read();
    const keys = Object.keys(first).sort();
    const isBytes = Object.prototype.toString.call(first.value) == "[object Uint8Array]";
    while (!(await reader.read()).done);
    return [keys, isBytes, first.done, await reader.read()];
  }),
  check("each event can be read as soon as it is sent", [events(1), events(2).slice(events(1).length)], async (t) => {
    const reader = (await t.open("event gate event")).body.getReader();
    const decoder = new TextDecoder();
    const first = await t.first(reader);
    const pending = reader.read();
    await t.go();
    return [first, decoder.decode((await pending).value)];
  }),
  check("several reads may wait at once, and are served in order", [true, true, [false, false, true]], async (t) => {
    const reader = (await t.open("event gate event gate")).body.getReader();
    const order = [];
    const reads = [0, 1, 2].map((at) => reader.read().then((result) => (order.push(at), result)));
    await reads[0];
    await t.go();
    await reads[1];
    await t.go();
    const results = await Promise.all(reads);
    const sorted = order.join() == "0,1,2";
    const [one, two] = results.map(({ value }) => value && new TextDecoder().decode(value));
    return [sorted, one + two == events(2), results.map(({ done }) => done)];
  }),
  check("a read is answered with a promise of the page's own", [true, true], async (t) => {
    const reader = (await t.open("event")).body.getReader();
    const read = reader.read();
    await read;
    return [read instanceof Promise, reader.closed instanceof Promise];
  }),
  check("closed resolves at the end", ["pending", "resolves"], async (t) => {
    const reader = (await t.open("event gate")).body.getReader();
    await reader.read();
    const before = await Promise.race([reader.closed.then(() => "resolved"), t.settle().then(() => "pending")]);
    await t.go();
    await t.drain(reader);
    return [before, await t.how(() => reader.closed)];
  }),
  check("a reader made by its constructor gives all bytes", events(2), async (t) => {
    const { body } = await t.open("event event");
    return t.drain(new ReadableStreamDefaultReader(body));
  }),
  check("a method of the prototype gets a reader", events(2), async (t) => {
    const { body } = await t.open("event event");
    return t.drain(ReadableStream.prototype.getReader.call(body));
  }),
  check("two readers in turn share the body", events(3), async (t) => {
    const { body } = await t.open("event gate event event");
    const first = body.getReader();
    const { value } = await first.read();
    first.releaseLock();
    await t.go();
    return new TextDecoder().decode(value) + (await t.read(body));
  }),
  check("locked follows the reader", [false, true, false, true], async (t) => {
    const { body } = await t.open("event");
    const before = body.locked;
    const reader = body.getReader();
    const during = body.locked;
    reader.releaseLock();
    const between = body.locked;
    body.getReader();
    return [before, during, between, body.locked];
  }),
  check("iteration gives all bytes", events(3), async (t) => {
    const { body } = await t.open("event event event");
    if (!hasIteration()) return UNSUPPORTED;
    let text = "";
    for await (const chunk of body) text += new TextDecoder().decode(chunk);
    return text;
  }, NO_ITERATION),
  check("values() gives all bytes", events(3), async (t) => {
    const { body } = await t.open("event event event");
    if (!hasIteration()) return UNSUPPORTED;
    let text = "";
    for await (const chunk of body.values()) text += new TextDecoder().decode(chunk);
    return text;
  }, NO_ITERATION),
  check("after break with preventCancel the rest can be read", [false, events(2)], async (t) => {
    const { body } = await t.open("event gate event");
    if (!hasIteration()) return UNSUPPORTED;
    let text = "";
    for await (const chunk of body.values({ preventCancel: true })) {
      text += new TextDecoder().decode(chunk);
      break;
    }
    const { locked } = body;
    await t.go();
    return [locked, text + (await t.read(body))];
  }, NO_ITERATION),
  check("an iterator is its own iterator, and works by hand", [true, true, { done: true }], async (t) => {
    const { body } = await t.open("event");
    if (!hasIteration()) return UNSUPPORTED;
    const iterator = body[Symbol.asyncIterator]();
    const first = await iterator.next();
    while (!(await iterator.next()).done);
    return [iterator[Symbol.asyncIterator]() === iterator, first.value?.length > 0, await iterator.next()];
  }, NO_ITERATION),
  check("an iterator's return gives its value back", [{ done: true, value: "bye" }, { done: true }, false], async (t) => {
    const { body } = await t.open("event hold");
    if (!hasIteration()) return UNSUPPORTED;
    const iterator = body.values();
    await iterator.next();
    const returned = await iterator.return("bye");
    return [returned, await iterator.next(), body.locked];
  }, NO_ITERATION),
  check("several next() may wait at once", [true, true], async (t) => {
    const { body } = await t.open("event gate");
    if (!hasIteration()) return UNSUPPORTED;
    const iterator = body.values();
    const results = [iterator.next(), iterator.next()];
    await results[0];
    await t.go();
    return [(await results[0]).value.length > 0, (await results[1]).done];
  }, NO_ITERATION),
  check("a reader with its own buffer gives all bytes", events(3), async (t) =>
    drainInto(t, (await t.open("event event event")).body, 7), NO_BYOB),
  check("it fills the app's buffer and takes it away", [0, 16, "data"], async (t) => {
    const reader = byobReader((await t.open("event")).body);
    if (!reader) return UNSUPPORTED;
    const mine = new Uint8Array(16);
    const { value } = await reader.read(mine);
    return [mine.byteLength, value.buffer.byteLength, new TextDecoder().decode(value).slice(0, 4)];
  }, NO_BYOB),
  check("it keeps the kind of view", ["Uint16Array", "DataView"], async (t) => {
    const reader = byobReader((await t.open("fill=64")).body);
    if (!reader) return UNSUPPORTED;
    const wide = await reader.read(new Uint16Array(8));
    const view = await reader.read(new DataView(new ArrayBuffer(8)));
    return [wide.value.constructor.name, view.value.constructor.name];
  }, NO_BYOB),
  check("it refuses an empty buffer", "rejects TypeError", async (t) => {
    const reader = byobReader((await t.open("event")).body);
    if (!reader) return UNSUPPORTED;
    return t.how(() => reader.read(new Uint8Array(0)));
  }, NO_BYOB),
  check("it waits for a minimum where it is asked to", "supported", async (t) => {
    const reader = byobReader((await t.open("event gate event")).body);
    if (!reader) return UNSUPPORTED;
    const read = reader.read(new Uint8Array(64), { min: events(2).length });
    await t.settle();
    await t.go();
    const { value } = await read;
    return new TextDecoder().decode(value) == events(2) ? "supported" : "not supported";
  }, NO_BYOB),
  check("its last result brings the buffer back", [true, 0, 8], async (t) => {
    const reader = byobReader((await t.open("event")).body);
    if (!reader) return UNSUPPORTED;
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(8));
      if (done) return [done, value.byteLength, value.buffer.byteLength];
    }
  }, NO_BYOB),
  check("text() gives all text, without a byte order mark", "hé", async (t) =>
    (await t.open("hex=efbbbf68 hex=c3 hex=a9")).text()),
  check("json() gives the value", { n: 1 }, async (t) => (await t.open("hex=7b226e223a hex=317d")).json()),
  check("json() refuses what is none", "rejects SyntaxError", async (t) => {
    const response = await t.open("event");
    return t.how(() => response.json());
  }),
  check("arrayBuffer() gives all bytes", [true, events(2)], async (t) => {
    const buffer = await (await t.open("event event")).arrayBuffer();
    return [buffer instanceof ArrayBuffer, new TextDecoder().decode(buffer)];
  }),
  check("blob() gives all bytes and the type", [events(2), "text/event-stream"], async (t) => {
    const blob = await (await t.open("event event")).blob();
    return [await blob.text(), blob.type];
  }),
  check("bytes() gives all bytes", events(2), async (t) => {
    const response = await t.open("event event");
    return new TextDecoder().decode(await response.bytes());
  }),
  check("formData() gives the fields", ["b"], async (t) => {
    const response = await t.open("hex=613d62", {}, { type: "application/x-www-form-urlencoded" });
    return (await response.formData()).getAll("a");
  }),
  check("formData() refuses a stream of events", "rejects TypeError", async (t) => {
    const response = await t.open("event");
    return t.how(() => response.formData());
  }),
  check("a body of 4 MiB arrives whole", [4194304, true], async (t) => {
    const bytes = new Uint8Array(await new Response((await t.open("fill=4194304")).body).arrayBuffer());
    return [bytes.length, bytes.every((byte, at) => byte == 97 + (at % 26))];
  }),
  check("an empty body ends at once", [{ done: true }, "resolves"], async (t) => {
    const reader = (await t.open("")).body.getReader();
    return [await reader.read(), await t.how(() => reader.closed)];
  }),
  check("an empty body is empty text", ["", ""], async (t) => {
    const response = await t.open("", {}, { length: 0 });
    const copy = response.clone();
    return [await response.text(), await copy.text()];
  }),
];
