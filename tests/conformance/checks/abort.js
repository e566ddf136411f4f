// The reason of an abort reaches the app as the same object, by every way of reading.

import { UNSUPPORTED, check, events } from "../tools.js";

/**
 * A call that the app can abort, with its controller. After the first event nothing more comes: a second one that
 * was there already would be read in place of the reason.
 */
async function abortable(t, steps = "event hold") {
  const controller = new AbortController();
  return [controller, await t.open(steps, { signal: t.keep(controller.signal) })];
}

/** Errors of their own instead of the reason: WebKit's everywhere, Firefox's where a body is read whole. */
const LOST = { differs: { WebKit: "rejects AbortError" } };
const LOST_WHOLE = { differs: { Firefox: "rejects AbortError", WebKit: "rejects AbortError" } };
const BOTH_LOST = ["rejects AbortError", "rejects AbortError"];

export default [
  check("an abort before the call rejects it with the reason", "rejects the reason", async (t) =>
    t.how(() => t.open("event", { signal: AbortSignal.abort(t.reason) }))),
  check("an abort before the answer rejects the call with the reason", ["rejects the reason", "client_closed"], async (t) => {
    const controller = new AbortController();
    const how = t.how(() => t.open("hold", { signal: controller.signal }));
    while (!(await t.log()).requests);
    controller.abort(t.reason);
    return [await how, await t.end()];
  }, { differs: { WebKit: ["rejects AbortError", "client_closed"] } }),
  check("an abort rejects a waiting read with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.first(reader);
    const how = t.how(() => reader.read());
    controller.abort(t.reason);
    return how;
  }, LOST),
  check("an abort rejects the next read with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.first(reader);
    controller.abort(t.reason);
    return t.how(() => reader.read());
  }, LOST),
  check("an abort rejects closed with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await reader.read();
    controller.abort(t.reason);
    return t.how(() => reader.closed);
  }, LOST),
  ...["text", "json", "arrayBuffer", "blob", "bytes"].map((method) =>
    check(`an abort rejects ${method}() with the reason`, "rejects the reason", async (t) => {
      const [controller, response] = await abortable(t);
      const how = t.how(() => response[method]());
      await t.settle();
      controller.abort(t.reason);
      return how;
    }, LOST_WHOLE),
  ),
  check("an abort ends iteration with the reason", "the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    try {
      for await (const chunk of body) if (chunk) controller.abort(t.reason);
    } catch (error) {
      return t.named(error);
    }
    return "ended";
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("an abort goes through a pipe with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    await t.first(reader);
    controller.abort(t.reason);
    return t.how(() => reader.read());
  }, LOST),
  check("an abort rejects pipeTo with the reason", ["rejects the reason", "the reason"], async (t) => {
    const [controller, { body }] = await abortable(t);
    let aborted;
    const how = t.how(() => body.pipeTo(new WritableStream({ abort: (reason) => void (aborted = t.named(reason)) })));
    await t.settle();
    controller.abort(t.reason);
    return [await how, aborted];
  }, { differs: { WebKit: ["rejects AbortError", "AbortError"] } }),
  check("an abort reaches both branches of a tee with the reason", ["rejects the reason", "rejects the reason"], async (t) => {
    const [controller, { body }] = await abortable(t);
    const readers = body.tee().map((branch) => branch.getReader());
    await Promise.all(readers.map((reader) => t.first(reader)));
    controller.abort(t.reason);
    return Promise.all(readers.map((reader) => t.how(() => reader.read())));
  }, { differs: { WebKit: BOTH_LOST } }),
  check("an abort reaches original and clone with the reason", ["rejects the reason", "rejects the reason"], async (t) => {
    const [controller, response] = await abortable(t);
    const copy = response.clone();
    const both = [t.how(() => response.text()), t.how(() => copy.text())];
    await t.settle();
    controller.abort(t.reason);
    return Promise.all(both);
  }, { differs: { Firefox: BOTH_LOST, WebKit: ["rejects TypeError", "rejects TypeError"] } }),
  check("an abort without a reason is an AbortError", "rejects AbortError", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.first(reader);
    controller.abort();
    return t.how(() => reader.read());
  }),
  check("a reason that is no error arrives as it is", "rejects enough", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.first(reader);
    controller.abort("enough");
    return t.how(() => reader.read());
  }, LOST),
  check("a timeout signal is a TimeoutError", "rejects TimeoutError", async (t) => {
    for (let ms = 100; ; ms *= 2) {
      const response = await t.open("drip", { signal: AbortSignal.timeout(ms) }).catch(() => {});
      // Where the machine halts, the answer itself is what came too late.
      if (response) return t.how(() => response.text());
    }
  }, LOST_WHOLE),
  check("a signal of a Request aborts with the reason", "rejects the reason", async (t) => {
    const controller = new AbortController();
    const request = t.keep(new Request(t.play("event hold"), { signal: controller.signal }));
    t.keep(request.signal);
    const reader = (await fetch(request)).body.getReader();
    await t.first(reader);
    controller.abort(t.reason);
    return t.how(() => reader.read());
  }, LOST),
  check("a signal of any of two aborts with the reason", "rejects the reason", async (t) => {
    const controller = new AbortController();
    const signal = t.keep(AbortSignal.any([controller.signal, new AbortController().signal]));
    const reader = (await t.open("event hold", { signal })).body.getReader();
    await t.first(reader);
    controller.abort(t.reason);
    return t.how(() => reader.read());
  }, LOST),
  check("an abort after the end changes nothing", [events(1), "resolves"], async (t) => {
    const [controller, { body }] = await abortable(t, "event");
    const reader = body.getReader();
    const text = await t.drain(reader);
    controller.abort(t.reason);
    return [text, await t.how(() => reader.closed)];
  }),
  check("an abort closes the server's connection", "client_closed", async (t) => {
    const [controller, { body }] = await abortable(t, "drip");
    const reader = body.getReader();
    await reader.read();
    controller.abort(t.reason);
    await t.how(() => reader.read());
    return t.end();
  }),
  check("an abort of an unread answer closes the server's connection", "client_closed", async (t) => {
    const [controller] = await abortable(t, "drip");
    controller.abort(t.reason);
    return t.end();
  }),
  check("listeners of the app's signal are called once", 1, async (t) => {
    const [controller, { body }] = await abortable(t);
    let calls = 0;
    controller.signal.addEventListener("abort", () => calls++);
    const reader = body.getReader();
    await reader.read();
    controller.abort(t.reason);
    await t.how(() => reader.read());
    return calls;
  }),
];
