// Failing requests and bodies fail with their native errors.

import { UNSUPPORTED, check, events } from "../tools.js";

/** WebKit ends a cut body as if it were complete. */
const whole = (seen) => ({ differs: { WebKit: seen } });

export default [
  check("a cut body fails a read", [events(1), "TypeError"], async (t) => {
    const reader = (await t.open("event gate cut")).body.getReader();
    const first = await t.firstEvent(reader);
    await t.openGate();
    return t.drain(reader, first);
  }, whole(events(1))),
  check("a reset connection fails a read", [events(1), "TypeError"], async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    const first = await t.firstEvent(reader);
    await t.openGate();
    return t.drain(reader, first);
  }),
  check("a body shorter than its content-length fails a read", "TypeError", async (t) => {
    const seen = await t.readAll((await t.open("event", {}, { length: 999 })).body);
    return Array.isArray(seen) ? seen[1] : "ended";
  }, whole("ended")),
  check("closed rejects with the error of the failed read", [true, "TypeError"], async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    await t.firstEvent(reader);
    await t.openGate();
    const error = await reader.read().catch((error) => error);
    const closed = await reader.closed.catch((error) => error);
    return [error === closed, t.errorName(error)];
  }),
  check("each later read of a failed body rejects with the same error", [true, true], async (t) => {
    const { body } = await t.open("event gate reset");
    const reader = body.getReader();
    await t.firstEvent(reader);
    await t.openGate();
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
      for await (const chunk of body) if (chunk) await t.openGate();
    } catch (error) {
      return t.errorName(error);
    }
    return "ended";
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("a reset connection fails a pipe", "TypeError", async (t) => {
    const reader = (await t.open("event gate reset")).body.pipeThrough(new TextDecoderStream()).getReader();
    await t.firstEvent(reader);
    await t.openGate();
    return (await t.drain(reader))[1];
  }),
  ...["text", "json", "arrayBuffer", "blob"].map((method) =>
    check(`a reset connection fails ${method}()`, "rejects TypeError", async (t) => {
      const response = await t.open("event gate reset");
      const outcome = t.outcome(() => response[method]());
      await t.settle();
      await t.openGate();
      return outcome;
    }, { differs: { Firefox: "rejects AbortError" } }),
  ),
  check("a cut body fails text()", "rejects TypeError", async (t) => {
    const response = await t.open("event gate cut");
    const outcome = t.outcome(() => response.text());
    await t.settle();
    await t.openGate();
    return outcome;
  }, whole("resolves")),
  check("a connection reset before the response fails the call", "rejects TypeError", async (t) =>
    t.outcome(() => t.open("reset"))),
  check("a refused connection fails the call", "rejects TypeError", async (t) => t.outcome(() => fetch("http://127.0.0.1:9/"))),
  check("an invalid URL fails the call", "rejects TypeError", async (t) => t.outcome(() => fetch("http://a b/"))),
  check("a call without arguments fails", "rejects TypeError", async (t) => t.outcome(() => fetch())),
  check("a GET with a body fails", "rejects TypeError", async (t) => t.outcome(() => t.open("event", { body: "{}" }))),
  check("an invalid init fails the call", Array(3).fill("rejects TypeError"), async (t) =>
    Promise.all([
      t.outcome(() => t.open("event", { mode: "fast" })),
      t.outcome(() => t.open("event", { signal: {} })),
      t.outcome(() => t.open("event", { headers: { "a b": "c" } })),
    ]), { differs: { WebKit: ["rejects TypeError", "resolves", "rejects TypeError"] } }),
  check("an init whose getter throws fails the call with that error", "rejects the reason", async (t) => {
    const init = {
      get method() {
        throw t.reason;
      },
    };
    return t.outcome(() => t.open("event", init));
  }),
  check("an unhandled rejection of a call is reported once", ["TypeError"], async (t) => {
    void t.open("reset");
    return t.unhandledOnce();
  }),
  check("an unhandled rejection of a read is reported once", ["TypeError"], async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    await t.firstEvent(reader);
    void reader.read();
    await t.openGate();
    await t.outcome(() => reader.closed);
    return t.unhandledOnce();
  }),
  check("an unhandled rejection of text() is reported once", ["TypeError"], async (t) => {
    const response = await t.open("event gate reset");
    void response.text();
    await t.settle();
    await t.openGate();
    return t.unhandledOnce();
  }, { differs: { Firefox: ["AbortError"] } }),
  check("an unhandled rejection of a pipe is reported once", ["TypeError"], async (t) => {
    const { body } = await t.open("event gate reset");
    void body.pipeTo(new WritableStream());
    await t.settle();
    await t.openGate();
    return t.unhandledOnce();
  }),
  check("a rejection that the app handles is not reported", "caught", async (t) => {
    const reader = (await t.open("event gate reset")).body.getReader();
    await t.firstEvent(reader);
    await t.openGate();
    return reader.read().then(() => "read", () => "caught");
  }),
];
