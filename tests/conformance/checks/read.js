// Every way to read a body returns the server's bytes, in the shape that the specification defines.

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
  check("a default reader returns all bytes", events(3), async (t) => t.readAll((await t.open("event event event")).body)),
  check("a reader's results have the specified shape", [["done", "value"], true, false, { done: true }], async (t) => {
    const reader = (await t.open("event")).body.getReader();
    const first = await reader.read();
    const keys = Object.keys(first).sort();
    const isBytes = Object.prototype.toString.call(first.value) == "[object Uint8Array]";
    while (!(await reader.read()).done);
    return [keys, isBytes, first.done, await reader.read()];
  }),
  check("a read returns each event as soon as the server sends it", [events(1), events(2).slice(events(1).length)], async (t) => {
    const reader = (await t.open("event gate event")).body.getReader();
    const decoder = new TextDecoder();
    const first = await t.firstEvent(reader);
    const pending = reader.read();
    await t.openGate();
    return [first, decoder.decode((await pending).value)];
  }),
  check("several pending reads resolve in order", [true, true, [false, false, true]], async (t) => {
    const reader = (await t.open("event gate event gate")).body.getReader();
    const order = [];
    const reads = [0, 1, 2].map((at) => reader.read().then((result) => (order.push(at), result)));
    await reads[0];
    await t.openGate();
    await reads[1];
    await t.openGate();
    const results = await Promise.all(reads);
    const sorted = order.join() == "0,1,2";
    const [one, two] = results.map(({ value }) => value && new TextDecoder().decode(value));
    return [sorted, one + two == events(2), results.map(({ done }) => done)];
  }),
  check("read() returns a native promise", [true, true], async (t) => {
    const reader = (await t.open("event")).body.getReader();
    const read = reader.read();
    await read;
    return [read instanceof Promise, reader.closed instanceof Promise];
  }),
  check("closed resolves at the end of the body", ["pending", "resolves"], async (t) => {
    const reader = (await t.open("event gate")).body.getReader();
    await reader.read();
    const before = await Promise.race([reader.closed.then(() => "resolved"), t.settle().then(() => "pending")]);
    await t.openGate();
    await t.drain(reader);
    return [before, await t.outcome(() => reader.closed)];
  }),
  check("a reader made by its constructor returns all bytes", events(2), async (t) => {
    const { body } = await t.open("event event");
    return t.drain(new ReadableStreamDefaultReader(body));
  }),
  check("getReader of the prototype returns a reader of the body", events(2), async (t) => {
    const { body } = await t.open("event event");
    return t.drain(ReadableStream.prototype.getReader.call(body));
  }),
  check("two readers in turn return all bytes together", events(3), async (t) => {
    const { body } = await t.open("event gate event event");
    const first = body.getReader();
    const { value } = await first.read();
    first.releaseLock();
    await t.openGate();
    return new TextDecoder().decode(value) + (await t.readAll(body));
  }),
  check("locked is true while a reader has the lock", [false, true, false, true], async (t) => {
    const { body } = await t.open("event");
    const before = body.locked;
    const reader = body.getReader();
    const during = body.locked;
    reader.releaseLock();
    const between = body.locked;
    body.getReader();
    return [before, during, between, body.locked];
  }),
  check("iteration returns all bytes", events(3), async (t) => {
    const { body } = await t.open("event event event");
    if (!hasIteration()) return UNSUPPORTED;
    let text = "";
    for await (const chunk of body) text += new TextDecoder().decode(chunk);
    return text;
  }, NO_ITERATION),
  check("values() returns all bytes", events(3), async (t) => {
    const { body } = await t.open("event event event");
    if (!hasIteration()) return UNSUPPORTED;
    let text = "";
    for await (const chunk of body.values()) text += new TextDecoder().decode(chunk);
    return text;
  }, NO_ITERATION),
  check("a reader returns the rest after a break with preventCancel", [false, events(2)], async (t) => {
    const { body } = await t.open("event gate event");
    if (!hasIteration()) return UNSUPPORTED;
    let text = "";
    for await (const chunk of body.values({ preventCancel: true })) {
      text += new TextDecoder().decode(chunk);
      break;
    }
    const { locked } = body;
    await t.openGate();
    return [locked, text + (await t.readAll(body))];
  }, NO_ITERATION),
  check("an iterator works without a loop and returns itself", [true, true, { done: true }], async (t) => {
    const { body } = await t.open("event");
    if (!hasIteration()) return UNSUPPORTED;
    const iterator = body[Symbol.asyncIterator]();
    const first = await iterator.next();
    while (!(await iterator.next()).done);
    return [iterator[Symbol.asyncIterator]() === iterator, first.value?.length > 0, await iterator.next()];
  }, NO_ITERATION),
  check("an iterator's return() resolves with its argument", [{ done: true, value: "bye" }, { done: true }, false], async (t) => {
    const { body } = await t.open("event hold");
    if (!hasIteration()) return UNSUPPORTED;
    const iterator = body.values();
    await iterator.next();
    const returned = await iterator.return("bye");
    return [returned, await iterator.next(), body.locked];
  }, NO_ITERATION),
  check("several pending next() resolve in order", [true, true], async (t) => {
    const { body } = await t.open("event gate");
    if (!hasIteration()) return UNSUPPORTED;
    const iterator = body.values();
    const results = [iterator.next(), iterator.next()];
    await results[0];
    await t.openGate();
    return [(await results[0]).value.length > 0, (await results[1]).done];
  }, NO_ITERATION),
  check("a BYOB reader returns all bytes", events(3), async (t) =>
    drainInto(t, (await t.open("event event event")).body, 7), NO_BYOB),
  check("a BYOB read transfers the app's buffer", [0, 16, "data"], async (t) => {
    const reader = byobReader((await t.open("event")).body);
    if (!reader) return UNSUPPORTED;
    const mine = new Uint8Array(16);
    const { value } = await reader.read(mine);
    return [mine.byteLength, value.buffer.byteLength, new TextDecoder().decode(value).slice(0, 4)];
  }, NO_BYOB),
  check("a BYOB read returns the type of view that it was given", ["Uint16Array", "DataView"], async (t) => {
    const reader = byobReader((await t.open("fill=64")).body);
    if (!reader) return UNSUPPORTED;
    const wide = await reader.read(new Uint16Array(8));
    const view = await reader.read(new DataView(new ArrayBuffer(8)));
    return [wide.value.constructor.name, view.value.constructor.name];
  }, NO_BYOB),
  check("a BYOB read refuses an empty buffer", "rejects TypeError", async (t) => {
    const reader = byobReader((await t.open("event")).body);
    if (!reader) return UNSUPPORTED;
    return t.outcome(() => reader.read(new Uint8Array(0)));
  }, NO_BYOB),
  check("a BYOB read with min waits for that many elements", "supported", async (t) => {
    const reader = byobReader((await t.open("event gate event")).body);
    if (!reader) return UNSUPPORTED;
    const read = reader.read(new Uint8Array(64), { min: events(2).length });
    await t.settle();
    await t.openGate();
    const { value } = await read;
    return new TextDecoder().decode(value) == events(2) ? "supported" : "not supported";
  }, NO_BYOB),
  check("the last BYOB read returns the buffer with length 0", [true, 0, 8], async (t) => {
    const reader = byobReader((await t.open("event")).body);
    if (!reader) return UNSUPPORTED;
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(8));
      if (done) return [done, value.byteLength, value.buffer.byteLength];
    }
  }, NO_BYOB),
  check("text() returns all text without the byte order mark", "hé", async (t) =>
    (await t.open("hex=efbbbf68 hex=c3 hex=a9")).text()),
  check("json() returns the value", { n: 1 }, async (t) => (await t.open("hex=7b226e223a hex=317d")).json()),
  check("json() rejects text that is not JSON", "rejects SyntaxError", async (t) => {
    const response = await t.open("event");
    return t.outcome(() => response.json());
  }),
  check("arrayBuffer() returns all bytes", [true, events(2)], async (t) => {
    const buffer = await (await t.open("event event")).arrayBuffer();
    return [buffer instanceof ArrayBuffer, new TextDecoder().decode(buffer)];
  }),
  check("blob() returns all bytes and the type", [events(2), "text/event-stream"], async (t) => {
    const blob = await (await t.open("event event")).blob();
    return [await blob.text(), blob.type];
  }),
  check("bytes() returns all bytes", events(2), async (t) => {
    const response = await t.open("event event");
    return new TextDecoder().decode(await response.bytes());
  }),
  check("formData() returns the fields", ["b"], async (t) => {
    const response = await t.open("hex=613d62", {}, { type: "application/x-www-form-urlencoded" });
    return (await response.formData()).getAll("a");
  }),
  check("formData() rejects an event stream", "rejects TypeError", async (t) => {
    const response = await t.open("event");
    return t.outcome(() => response.formData());
  }),
  check("a body of 4 MiB arrives intact", [4194304, true], async (t) => {
    const bytes = new Uint8Array(await new Response((await t.open("fill=4194304")).body).arrayBuffer());
    return [bytes.length, bytes.every((byte, at) => byte == 97 + (at % 26))];
  }),
  check("an empty body ends at once", [{ done: true }, "resolves"], async (t) => {
    const reader = (await t.open("")).body.getReader();
    return [await reader.read(), await t.outcome(() => reader.closed)];
  }),
  check("text() of an empty body returns an empty string", ["", ""], async (t) => {
    const response = await t.open("", {}, { length: 0 });
    const copy = response.clone();
    return [await response.text(), await copy.text()];
  }),
];
