// When the app stops reading, the server's connection closes: the model stops generating.

import { UNSUPPORTED, check, events } from "../tools.js";

/** An answer without an end, of which the first event has been read. */
async function started(t, steps = "drip") {
  const { body } = await t.open(steps);
  const reader = body.getReader();
  await t.first(reader);
  return { body, reader };
}

const CLOSED = "client_closed";

export default [
  check("reader.cancel() closes the connection", ["resolves", CLOSED], async (t) => {
    const { reader } = await started(t);
    return [await t.how(() => reader.cancel()), await t.end()];
  }),
  check("reader.cancel() while a read waits ends that read", [{ done: true }, CLOSED], async (t) => {
    // Nothing comes that the read could be given, until it has ended.
    const { reader } = await started(t, "event gate drip");
    const waiting = reader.read();
    await reader.cancel();
    const result = await waiting;
    await t.go();
    return [result, await t.end()];
  }),
  check("body.cancel() before any read closes the connection", ["resolves", CLOSED], async (t) => {
    const { body } = await t.open("drip");
    return [await t.how(() => body.cancel()), await t.end()];
  }),
  check("body.cancel() after releasing closes the connection", ["resolves", CLOSED], async (t) => {
    const { body, reader } = await started(t);
    reader.releaseLock();
    return [await t.how(() => body.cancel(t.reason)), await t.end()];
  }),
  check("cancel of a reader with its own buffer closes the connection", CLOSED, async (t) => {
    const { body } = await t.open("drip");
    let reader;
    try {
      reader = body.getReader({ mode: "byob" });
    } catch {
      return UNSUPPORTED;
    }
    await reader.read(new Uint8Array(8));
    await reader.cancel();
    return t.end();
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("break closes the connection", [CLOSED, false], async (t) => {
    const { body } = await t.open("drip");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    for await (const chunk of body) if (chunk) break;
    return [await t.end(), body.locked];
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("an error thrown in the loop closes the connection", ["the reason", CLOSED], async (t) => {
    const { body } = await t.open("drip");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    const thrown = await (async () => {
      for await (const chunk of body) if (chunk) throw t.reason;
    })().catch(t.named);
    return [thrown, await t.end()];
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("cancel behind a pipe closes the connection", CLOSED, async (t) => {
    const reader = (await t.open("drip")).body.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    await reader.cancel();
    return t.end();
  }),
  check("cancel behind two pipes closes the connection", CLOSED, async (t) => {
    const { body } = await t.open("drip");
    const reader = body.pipeThrough(new TextDecoderStream()).pipeThrough(new TransformStream()).getReader();
    await reader.read();
    await reader.cancel(t.reason);
    return t.end();
  }),
  check("a failing sink closes the connection", ["rejects the reason", CLOSED], async (t) => {
    const { body } = await t.open("drip");
    const failing = new WritableStream({ write: () => Promise.reject(t.reason) });
    return [await t.how(() => body.pipeTo(failing)), await t.end()];
  }),
  check("a stopped pipe closes the connection", CLOSED, async (t) => {
    const { body } = await t.open("drip");
    const controller = new AbortController();
    const how = t.how(() => body.pipeTo(new WritableStream(), { signal: controller.signal }));
    await t.settle();
    controller.abort();
    await how;
    return t.end();
  }),
  check("cancelling both branches of a tee closes the connection", ["resolves", "resolves", CLOSED], async (t) => {
    const branches = (await t.open("drip")).body.tee();
    const hows = await Promise.all(branches.map((branch) => t.how(() => branch.cancel())));
    return [...hows, await t.end()];
  }),
  check("cancelling original and clone closes the connection", CLOSED, async (t) => {
    const response = await t.open("drip");
    const copy = response.clone();
    await Promise.all([response.body.cancel(), copy.body.cancel()]);
    return t.end();
  }),
  check("one branch of a tee keeps the connection open", [null, events(2)], async (t) => {
    const [one, two] = (await t.open("event gate event")).body.tee();
    const reader = one.getReader();
    await reader.read();
    void reader.cancel();
    await t.settle();
    const { end } = await t.log();
    await t.go();
    return [end, await t.read(two)];
  }),
  check("cancelling twice is fine", ["resolves", "resolves"], async (t) => {
    const { reader } = await started(t);
    return [await t.how(() => reader.cancel()), await t.how(() => reader.cancel())];
  }),
  check("cancelling after the end is fine", "resolves", async (t) => {
    const reader = (await t.open("event")).body.getReader();
    await t.drain(reader);
    return t.how(() => reader.cancel());
  }),
  check("cancelling resolves to nothing", [true, true], async (t) => {
    const { reader } = await started(t);
    const other = await fetch(t.play("drip", {}, "b"));
    return [(await reader.cancel(1)) === undefined, (await other.body.cancel(1)) === undefined];
  }),
  check("after a cancel, reads are done and closed resolves", [{ done: true }, "resolves"], async (t) => {
    const { reader } = await started(t);
    await reader.cancel();
    return [await reader.read(), await t.how(() => reader.closed)];
  }),
  check("releasing does not close the connection", null, async (t) => {
    const { reader } = await started(t);
    reader.releaseLock();
    await t.settle();
    return (await t.log()).end;
  }),
  check("a page that goes away closes the connection", CLOSED, async (t) => {
    // A frame in the frame, with the same SDK in it.
    const inner = document.createElement("iframe");
    inner.src = `/inner.html?${new URLSearchParams({ play: t.play("drip"), sdk: t.sdkName })}`;
    document.body.append(inner);
    await new Promise((resolve) => window.addEventListener("message", resolve, { once: true }));
    inner.remove();
    return t.end();
  }),
];
