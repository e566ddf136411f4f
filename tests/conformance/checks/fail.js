// What goes wrong on the way goes wrong for the app as it does natively.

import { UNSUPPORTED, check, events } from "../tools.js";

/** WebKit ends a body that was cut as if it were whole. */
const whole = (seen) => ({ differs: { WebKit: seen } });

export default [
  check("a cut body fails a read", [events(1), "TypeError"], async (t) => {
    const reader = (await t.open("event gate cut")).body.getReader();
    const first = await t.first(reader);
    await t.go();
    return t.drain(reader, first);
  }, whole(events(1))),
  check("a reset connection fails a read", [events(1), "TypeError"], async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    const first = await t.first(reader);
    await t.go();
    return t.drain(reader, first);
  }),
  check("a body shorter than announced fails a read", "TypeError", async (t) => {
    const seen = await t.read((await t.open("event", {}, { length: 999 })).body);
    return Array.isArray(seen) ? seen[1] : "ended";
  }, whole("ended")),
  check("a failed body's closed rejects with the same error", [true, "TypeError"], async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    await t.first(reader);
    await t.go();
    const error = await reader.read().catch((error) => error);
    const closed = await reader.closed.catch((error) => error);
    return [error === closed, t.named(error)];
  }),
  check("a failed body goes on failing, with the same error", [true, true], async (t) => {
    const { body } = await t.open("event gate reset");
    const reader = body.getReader();
    await t.first(reader);
    await t.go();
    const first = await reader.read().catch((error) => error);
    const second = await reader.read().catch((error) => error);
    reader.releaseLock();
    const third = await body.getReader().read().catch((error) => error);
    return [first === second, second === third];
  }),
  check("a reset connection fails iteration", "TypeError", async (t) => {
    const { body } = await t.open("event gate reset");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    try {
      for await (const chunk of body) if (chunk) await t.go();
    } catch (error) {
      return t.named(error);
    }
    return "ended";
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("a reset connection fails a pipe", "TypeError", async (t) => {
    const reader = (await t.open("event gate reset")).body.pipeThrough(new TextDecoderStream()).getReader();
    await t.first(reader);
    await t.go();
    return (await t.drain(reader))[1];
  }),
  ...["text", "json", "arrayBuffer", "blob"].map((method) =>
    check(`a reset connection fails ${method}()`, "rejects TypeError", async (t) => {
      const response = await t.open("event gate reset");
      const how = t.how(() => response[method]());
      await t.settle();
      await t.go();
      return how;
    }, { differs: { Firefox: "rejects AbortError" } }),
  ),
  check("a cut body fails text()", "rejects TypeError", async (t) => {
    const response = await t.open("event gate cut");
    const how = t.how(() => response.text());
    await t.settle();
    await t.go();
    return how;
  }, whole("resolves")),
  check("a connection that is reset before the answer fails the call", "rejects TypeError", async (t) =>
    t.how(() => t.open("reset"))),
  check("a refused connection fails the call", "rejects TypeError", async (t) => t.how(() => fetch("http://127.0.0.1:9/"))),
  check("an address that is none fails the call", "rejects TypeError", async (t) => t.how(() => fetch("http://a b/"))),
  check("a call without arguments fails", "rejects TypeError", async (t) => t.how(() => fetch())),
  check("a GET with a body fails", "rejects TypeError", async (t) => t.how(() => t.open("event", { body: "{}" }))),
  check("a bad init fails", Array(3).fill("rejects TypeError"), async (t) =>
    Promise.all([
      t.how(() => t.open("event", { mode: "fast" })),
      t.how(() => t.open("event", { signal: {} })),
      t.how(() => t.open("event", { headers: { "a b": "c" } })),
    ]), { differs: { WebKit: ["rejects TypeError", "resolves", "rejects TypeError"] } }),
  check("an app's own throwing init throws the same", "rejects the reason", async (t) => {
    const init = {
      get method() {
        throw t.reason;
      },
    };
    return t.how(() => t.open("event", init));
  }),
  check("an unhandled rejection is reported once: a call", ["TypeError"], async (t) => {
    void t.open("reset");
    return t.unhandledOnce();
  }),
  check("an unhandled rejection is reported once: a read", ["TypeError"], async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    await t.first(reader);
    void reader.read();
    await t.go();
    await t.how(() => reader.closed);
    return t.unhandledOnce();
  }),
  check("an unhandled rejection is reported once: text()", ["TypeError"], async (t) => {
    const response = await t.open("event gate reset");
    void response.text();
    await t.settle();
    await t.go();
    return t.unhandledOnce();
  }, { differs: { Firefox: ["AbortError"] } }),
  check("an unhandled rejection is reported once: a pipe", ["TypeError"], async (t) => {
    const { body } = await t.open("event gate reset");
    void body.pipeTo(new WritableStream());
    await t.settle();
    await t.go();
    return t.unhandledOnce();
  }),
  check("a rejection that the app handles is not reported", "caught", async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    await t.first(reader);
    await t.go();
    return reader.read().then(() => "read", () => "caught");
  }),
];
