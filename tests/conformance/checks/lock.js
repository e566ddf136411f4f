// Locked, used and released bodies refuse calls with their native errors. A refused call does not end the stream.

import { check, events } from "../tools.js";

/** A response whose body another reader has locked. */
async function locked(t) {
  const response = await t.open("event hold");
  response.body.getReader();
  return response;
}

const METHODS = ["text", "json", "arrayBuffer", "blob", "bytes", "formData"];

export default [
  check("a locked body refuses a second reader", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return t.outcome(() => body.getReader());
  }),
  check("a locked body refuses tee()", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return t.outcome(() => body.tee());
  }),
  check("a locked body refuses pipeThrough()", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return t.outcome(() => body.pipeThrough(new TextDecoderStream()));
  }),
  check("a locked body refuses pipeTo()", "rejects TypeError", async (t) => {
    const { body } = await locked(t);
    return t.outcome(() => body.pipeTo(new WritableStream()));
  }),
  check("a locked body refuses cancel() and stays connected", ["rejects TypeError", null], async (t) => {
    const { body } = await locked(t);
    const outcome = await t.outcome(() => body.cancel());
    return [outcome, (await t.serverLog()).end];
  }),
  check("a locked body refuses values()", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return body.values ? t.outcome(() => body.values()) : "unsupported";
  }, { differs: { WebKit: "unsupported" } }),
  check("a locked response refuses clone()", "throws TypeError", async (t) => {
    const response = await locked(t);
    return t.outcome(() => response.clone());
  }),
  ...METHODS.map((method) =>
    check(`a locked response refuses ${method}()`, "rejects TypeError", async (t) => {
      const response = await locked(t);
      return t.outcome(() => response[method]());
    }),
  ),
  ...METHODS.map((method) =>
    check(`a used response refuses ${method}()`, "rejects TypeError", async (t) => {
      const response = await t.open("event");
      await response.text();
      return t.outcome(() => response[method]());
    }),
  ),
  check("a used response refuses clone()", "throws TypeError", async (t) => {
    const response = await t.open("event");
    await response.text();
    return t.outcome(() => response.clone());
  }),
  check("a partly read response refuses text()", "rejects TypeError", async (t) => {
    const response = await t.open("event hold");
    const reader = response.body.getReader();
    await reader.read();
    reader.releaseLock();
    return t.outcome(() => response.text());
  }),
  check("a release rejects a pending read, and the next reader works", ["rejects TypeError", events(2)], async (t) => {
    const { body } = await t.open("event gate event");
    const reader = body.getReader();
    const first = await t.firstEvent(reader);
    const waiting = t.outcome(() => reader.read());
    reader.releaseLock();
    const outcome = await waiting;
    await t.openGate();
    return [outcome, first + (await t.readAll(body))];
  }),
  check("a released reader refuses read(), cancel() and closed", Array(3).fill("rejects TypeError"), async (t) => {
    const { body } = await t.open("event hold");
    const reader = body.getReader();
    reader.releaseLock();
    return [await t.outcome(() => reader.read()), await t.outcome(() => reader.cancel()), await t.outcome(() => reader.closed)];
  }),
  check("a second releaseLock() changes nothing", ["returns", "returns"], async (t) => {
    const reader = (await t.open("event")).body.getReader();
    return [await t.outcome(() => reader.releaseLock()), await t.outcome(() => reader.releaseLock())];
  }),
  check("getReader() with an unknown mode throws and locks nothing", ["throws TypeError", events(1)], async (t) => {
    const { body } = await t.open("event");
    const outcome = await t.outcome(() => body.getReader({ mode: "fast" }));
    return [outcome, await t.readAll(body)];
  }),
  check("body and response methods throw without their object", ["rejects TypeError", "throws TypeError", "throws TypeError"], async (t) => {
    const response = await t.open("event");
    const { text, clone } = response;
    const { getReader } = response.body;
    return [await t.outcome(() => text()), await t.outcome(() => clone()), await t.outcome(() => getReader())];
  }),
  check("a reader's read() rejects without its reader", "rejects TypeError", async (t) => {
    const { read } = (await t.open("event")).body.getReader();
    return t.outcome(() => read());
  }),
  check("a method called on another object acts on that object", ["other", "other"], async (t) => {
    const response = await t.open("event");
    const text = await response.text.call(new Response("other"));
    return [text, await t.readAll(response.body.tee.call(new Response("other").body)[0])];
  }),
];
