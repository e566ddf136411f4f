// Locked, used and released bodies refuse as they do natively, and refusing ends nothing.

import { check, events } from "../tools.js";

/** A body that somebody else reads already. */
async function locked(t) {
  const response = await t.open("event hold");
  response.body.getReader();
  return response;
}

const METHODS = ["text", "json", "arrayBuffer", "blob", "bytes", "formData"];

export default [
  check("a second reader is refused", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return t.how(() => body.getReader());
  }),
  check("a locked body cannot be teed", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return t.how(() => body.tee());
  }),
  check("a locked body cannot be piped through", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return t.how(() => body.pipeThrough(new TextDecoderStream()));
  }),
  check("a locked body cannot be piped", "rejects TypeError", async (t) => {
    const { body } = await locked(t);
    return t.how(() => body.pipeTo(new WritableStream()));
  }),
  check("a locked body cannot be cancelled", ["rejects TypeError", null], async (t) => {
    const { body } = await locked(t);
    const how = await t.how(() => body.cancel());
    return [how, (await t.log()).end];
  }),
  check("a locked body cannot be iterated", "throws TypeError", async (t) => {
    const { body } = await locked(t);
    return body.values ? t.how(() => body.values()) : "unsupported";
  }, { differs: { WebKit: "unsupported" } }),
  check("a locked response cannot be cloned", "throws TypeError", async (t) => {
    const response = await locked(t);
    return t.how(() => response.clone());
  }),
  ...METHODS.map((method) =>
    check(`a locked response refuses ${method}()`, "rejects TypeError", async (t) => {
      const response = await locked(t);
      return t.how(() => response[method]());
    }),
  ),
  ...METHODS.map((method) =>
    check(`a used response refuses ${method}()`, "rejects TypeError", async (t) => {
      const response = await t.open("event");
      await response.text();
      return t.how(() => response[method]());
    }),
  ),
  check("a used response cannot be cloned", "throws TypeError", async (t) => {
    const response = await t.open("event");
    await response.text();
    return t.how(() => response.clone());
  }),
  check("a partly read response refuses text()", "rejects TypeError", async (t) => {
    const response = await t.open("event hold");
    const reader = response.body.getReader();
    await reader.read();
    reader.releaseLock();
    return t.how(() => response.text());
  }),
  check("a release rejects a pending read, and the next reader works", ["rejects TypeError", events(2)], async (t) => {
    const { body } = await t.open("event gate event");
    const reader = body.getReader();
    const first = await t.first(reader);
    const waiting = t.how(() => reader.read());
    reader.releaseLock();
    const how = await waiting;
    await t.go();
    return [how, first + (await t.read(body))];
  }),
  check("a released reader refuses read(), cancel() and closed", Array(3).fill("rejects TypeError"), async (t) => {
    const { body } = await t.open("event hold");
    const reader = body.getReader();
    reader.releaseLock();
    return [await t.how(() => reader.read()), await t.how(() => reader.cancel()), await t.how(() => reader.closed)];
  }),
  check("releasing twice is fine", ["returns", "returns"], async (t) => {
    const reader = (await t.open("event")).body.getReader();
    return [await t.how(() => reader.releaseLock()), await t.how(() => reader.releaseLock())];
  }),
  check("an unknown reader mode is refused without effect", ["throws TypeError", events(1)], async (t) => {
    const { body } = await t.open("event");
    const how = await t.how(() => body.getReader({ mode: "fast" }));
    return [how, await t.read(body)];
  }),
  check("methods that are taken off their object are refused", ["rejects TypeError", "throws TypeError", "throws TypeError"], async (t) => {
    const response = await t.open("event");
    const { text, clone } = response;
    const { getReader } = response.body;
    return [await t.how(() => text()), await t.how(() => clone()), await t.how(() => getReader())];
  }),
  check("a read that is taken off its reader is refused", "rejects TypeError", async (t) => {
    const { read } = (await t.open("event")).body.getReader();
    return t.how(() => read());
  }),
  check("methods that are called on another object work on that one", ["other", "other"], async (t) => {
    const response = await t.open("event");
    const text = await response.text.call(new Response("other"));
    return [text, await t.read(response.body.tee.call(new Response("other").body)[0])];
  }),
];
