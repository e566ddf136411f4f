// When the app cancels, the server's connection closes, so that the model stops generating.

import { UNSUPPORTED, check, events } from "../tools.js";

/** An endless response whose first event has been read. */
async function started(t, steps = "drip") {
  const { body } = await t.open(steps);
  const reader = body.getReader();
  await t.firstEvent(reader);
  return { body, reader };
}

const CLOSED = "client_closed";

export default [
  check("reader.cancel() closes the connection", ["resolves", CLOSED], async (t) => {
    const { reader } = await started(t);
    return [await t.outcome(() => reader.cancel()), await t.connectionEnd()];
  }),
  check("reader.cancel() ends a pending read", [{ done: true }, CLOSED], async (t) => {
    // The gate keeps the next event back, so that only the cancel can end the read.
    const { reader } = await started(t, "event gate drip");
    const waiting = reader.read();
    await reader.cancel();
    const result = await waiting;
    await t.openGate();
    return [result, await t.connectionEnd()];
  }),
  check("body.cancel() before any read closes the connection", ["resolves", CLOSED], async (t) => {
    const { body } = await t.open("drip");
    return [await t.outcome(() => body.cancel()), await t.connectionEnd()];
  }),
  check("body.cancel() after releaseLock() closes the connection", ["resolves", CLOSED], async (t) => {
    const { body, reader } = await started(t);
    reader.releaseLock();
    return [await t.outcome(() => body.cancel(t.reason)), await t.connectionEnd()];
  }),
  check("cancel() of a BYOB reader closes the connection", CLOSED, async (t) => {
    const { body } = await t.open("drip");
    let reader;
    try {
      reader = body.getReader({ mode: "byob" });
    } catch {
      return UNSUPPORTED;
    }
    await reader.read(new Uint8Array(8));
    await reader.cancel();
    return t.connectionEnd();
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("a break out of an iteration closes the connection", [CLOSED, false], async (t) => {
    const { body } = await t.open("drip");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    for await (const chunk of body) if (chunk) break;
    return [await t.connectionEnd(), body.locked];
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("an error thrown in an iteration closes the connection", ["the reason", CLOSED], async (t) => {
    const { body } = await t.open("drip");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    const thrown = await (async () => {
      for await (const chunk of body) if (chunk) throw t.reason;
    })().catch(t.errorName);
    return [thrown, await t.connectionEnd()];
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("cancel() behind a pipe closes the connection", CLOSED, async (t) => {
    const reader = (await t.open("drip")).body.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    await reader.cancel();
    return t.connectionEnd();
  }),
  check("cancel() behind two pipes closes the connection", CLOSED, async (t) => {
    const { body } = await t.open("drip");
    const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream()).getReader();
    await reader.read();
    await reader.cancel(t.reason);
    return t.connectionEnd();
  }),
  check("a failing sink closes the connection", ["rejects the reason", CLOSED], async (t) => {
    const { body } = await t.open("drip");
    const failing = new WritableStream({ write: () => Promise.reject(t.reason) });
    return [await t.outcome(() => body.pipeTo(failing)), await t.connectionEnd()];
  }),
  check("a pipe that its signal stops closes the connection", CLOSED, async (t) => {
    const { body } = await t.open("drip");
    const controller = new AbortController();
    const outcome = t.outcome(() => body.pipeTo(new WritableStream(), { signal: controller.signal }));
    await t.settle();
    controller.abort();
    await outcome;
    return t.connectionEnd();
  }),
  check("cancelling both branches of a tee closes the connection", ["resolves", "resolves", CLOSED], async (t) => {
    const branches = (await t.open("drip")).body.tee();
    const outcomes = await Promise.all(branches.map((branch) => t.outcome(() => branch.cancel())));
    return [...outcomes, await t.connectionEnd()];
  }),
  check("cancelling original and clone closes the connection", CLOSED, async (t) => {
    const response = await t.open("drip");
    const copy = response.clone();
    await Promise.all([response.body.cancel(), copy.body.cancel()]);
    return t.connectionEnd();
  }),
  check("an uncancelled branch of a tee keeps the connection open", [null, events(2)], async (t) => {
    const [one, two] = (await t.open("event gate event")).body.tee();
    const reader = one.getReader();
    await reader.read();
    void reader.cancel();
    await t.settle();
    const { end } = await t.serverLog();
    await t.openGate();
    return [end, await t.readAll(two)];
  }),
  check("a second cancel() resolves", ["resolves", "resolves"], async (t) => {
    const { reader } = await started(t);
    return [await t.outcome(() => reader.cancel()), await t.outcome(() => reader.cancel())];
  }),
  check("cancel() after the end resolves", "resolves", async (t) => {
    const reader = (await t.open("event")).body.getReader();
    await t.drain(reader);
    return t.outcome(() => reader.cancel());
  }),
  check("cancel() resolves with undefined", [true, true], async (t) => {
    const { reader } = await started(t);
    const other = await fetch(t.play("drip", {}, "b"));
    return [(await reader.cancel(1)) === undefined, (await other.body.cancel(1)) === undefined];
  }),
  check("cancel() makes later reads done and resolves closed", [{ done: true }, "resolves"], async (t) => {
    const { reader } = await started(t);
    await reader.cancel();
    return [await reader.read(), await t.outcome(() => reader.closed)];
  }),
  check("releaseLock() keeps the connection open", null, async (t) => {
    const { reader } = await started(t);
    reader.releaseLock();
    await t.settle();
    return (await t.serverLog()).end;
  }),
  check("a removed frame closes the connection", CLOSED, async (t) => {
    // A nested frame with the same SDK.
    const inner = document.createElement("iframe");
    inner.src = `/inner.html?${new URLSearchParams({ play: t.play("drip"), sdk: t.sdkName })}`;
    document.body.append(inner);
    await new Promise((resolve) => window.addEventListener("message", resolve, { once: true }));
    inner.remove();
    return t.connectionEnd();
  }),
];
