// However the app reads, it gets the reason of an abort as the same object.

import { UNSUPPORTED, check, events } from "../tools.js";

/**
 * A call with the controller that aborts it. The server sends one event only: a read would return a second event
 * that has arrived instead of the reason.
 */
async function abortable(t, steps = "event hold") {
  const controller = new AbortController();
  return [controller, await t.open(steps, { signal: t.keep(controller.signal) })];
}

/** WebKit always replaces the reason by an error of its own, Firefox when a method reads the whole body. */
const LOST = { differs: { WebKit: "rejects AbortError" } };
const LOST_WHOLE = { differs: { Firefox: "rejects AbortError", WebKit: "rejects AbortError" } };
const BOTH_LOST = ["rejects AbortError", "rejects AbortError"];

export default [
  check("an abort before the call rejects it with the reason", "rejects the reason", async (t) =>
    t.outcome(() => t.open("event", { signal: AbortSignal.abort(t.reason) }))),
  check("an abort before the response rejects with the reason", ["rejects the reason", "client_closed"], async (t) => {
    const controller = new AbortController();
    const outcome = t.outcome(() => t.open("hold", { signal: controller.signal }));
    while (!(await t.serverLog()).requests);
    controller.abort(t.reason);
    return [await outcome, await t.connectionEnd()];
  }, { differs: { WebKit: ["rejects AbortError", "client_closed"] } }),
  check("an abort rejects a waiting read with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.firstEvent(reader);
    const outcome = t.outcome(() => reader.read());
    controller.abort(t.reason);
    return outcome;
  }, LOST),
  check("an abort rejects the next read with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.firstEvent(reader);
    controller.abort(t.reason);
    return t.outcome(() => reader.read());
  }, LOST),
  check("an abort rejects closed with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await reader.read();
    controller.abort(t.reason);
    return t.outcome(() => reader.closed);
  }, LOST),
  ...["text", "json", "arrayBuffer", "blob", "bytes"].map((method) =>
    check(`an abort rejects ${method}() with the reason`, "rejects the reason", async (t) => {
      const [controller, response] = await abortable(t);
      const outcome = t.outcome(() => response[method]());
      await t.settle();
      controller.abort(t.reason);
      return outcome;
    }, LOST_WHOLE),
  ),
  check("an abort ends iteration with the reason", "the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    try {
      for await (const chunk of body) if (chunk) controller.abort(t.reason);
    } catch (error) {
      return t.errorName(error);
    }
    return "ended";
  }, { differs: { WebKit: UNSUPPORTED } }),
  check("an abort rejects a read behind a pipe with the reason", "rejects the reason", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    await t.firstEvent(reader);
    controller.abort(t.reason);
    return t.outcome(() => reader.read());
  }, LOST),
  check("an abort rejects pipeTo with the reason", ["rejects the reason", "the reason"], async (t) => {
    const [controller, { body }] = await abortable(t);
    let aborted;
    const outcome = t.outcome(() => body.pipeTo(new WritableStream({ abort: (reason) => void (aborted = t.errorName(reason)) })));
    await t.settle();
    controller.abort(t.reason);
    return [await outcome, aborted];
  }, { differs: { WebKit: ["rejects AbortError", "AbortError"] } }),
  check("an abort reaches both branches of a tee with the reason", ["rejects the reason", "rejects the reason"], async (t) => {
    const [controller, { body }] = await abortable(t);
    const readers = body.tee().map((branch) => branch.getReader());
    await Promise.all(readers.map((reader) => t.firstEvent(reader)));
    controller.abort(t.reason);
    return Promise.all(readers.map((reader) => t.outcome(() => reader.read())));
  }, { differs: { WebKit: BOTH_LOST } }),
  check("an abort reaches original and clone with the reason", ["rejects the reason", "rejects the reason"], async (t) => {
    const [controller, response] = await abortable(t);
    const copy = response.clone();
    const both = [t.outcome(() => response.text()), t.outcome(() => copy.text())];
    await t.settle();
    controller.abort(t.reason);
    return Promise.all(both);
  }, { differs: { Firefox: BOTH_LOST, WebKit: ["rejects TypeError", "rejects TypeError"] } }),
  check("an abort without a reason rejects with AbortError", "rejects AbortError", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.firstEvent(reader);
    controller.abort();
    return t.outcome(() => reader.read());
  }),
  check("an abort with a string rejects with that string", "rejects enough", async (t) => {
    const [controller, { body }] = await abortable(t);
    const reader = body.getReader();
    await t.firstEvent(reader);
    controller.abort("enough");
    return t.outcome(() => reader.read());
  }, LOST),
  check("a timeout signal rejects text() with TimeoutError", "rejects TimeoutError", async (t) => {
    for (let ms = 100; ; ms *= 2) {
      const response = await t.open("drip", { signal: AbortSignal.timeout(ms) }).catch(() => {});
      // On a slow machine the response may arrive after the timeout. Then try again with a longer one.
      if (response) return t.outcome(() => response.text());
    }
  }, LOST_WHOLE),
  check("the signal of a Request aborts a read with the reason", "rejects the reason", async (t) => {
    const controller = new AbortController();
    const request = t.keep(new Request(t.play("event hold"), { signal: controller.signal }));
    t.keep(request.signal);
    const reader = (await fetch(request)).body.getReader();
    await t.firstEvent(reader);
    controller.abort(t.reason);
    return t.outcome(() => reader.read());
  }, LOST),
  check("a signal of AbortSignal.any aborts a read with the reason", "rejects the reason", async (t) => {
    const controller = new AbortController();
    const signal = t.keep(AbortSignal.any([controller.signal, new AbortController().signal]));
    const reader = (await t.open("event hold", { signal })).body.getReader();
    await t.firstEvent(reader);
    controller.abort(t.reason);
    return t.outcome(() => reader.read());
  }, LOST),
  check("an abort after the end changes nothing", [events(1), "resolves"], async (t) => {
    const [controller, { body }] = await abortable(t, "event");
    const reader = body.getReader();
    const text = await t.drain(reader);
    controller.abort(t.reason);
    return [text, await t.outcome(() => reader.closed)];
  }),
  check("an abort during a read closes the server's connection", "client_closed", async (t) => {
    const [controller, { body }] = await abortable(t, "drip");
    const reader = body.getReader();
    await reader.read();
    controller.abort(t.reason);
    await t.outcome(() => reader.read());
    return t.connectionEnd();
  }),
  check("an abort of an unread body closes the server's connection", "client_closed", async (t) => {
    const [controller] = await abortable(t, "drip");
    controller.abort(t.reason);
    return t.connectionEnd();
  }),
  check("an abort calls the signal's listeners once", 1, async (t) => {
    const [controller, { body }] = await abortable(t);
    let calls = 0;
    controller.signal.addEventListener("abort", () => calls++);
    const reader = body.getReader();
    await reader.read();
    controller.abort(t.reason);
    await t.outcome(() => reader.read());
    return calls;
  }),
];
