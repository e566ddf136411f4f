// Pipes carry every byte, end natively, and refuse invalid arguments.

import { check, events } from "../tools.js";

/** "hello hello", compressed with deflate. */
const HELLO = "cb48cdc9c957c8009100";

/** A sink that records the text and how it ended. */
function sink(more) {
  const kept = { text: "", ended: "open" };
  const decoder = new TextDecoder();
  kept.stream = new WritableStream({
    write: (chunk) => void (kept.text += decoder.decode(chunk, { stream: true })),
    close: () => void (kept.ended = "closed"),
    abort: (reason) => void (kept.ended = reason?.name ?? `${reason}`),
    ...more,
  });
  return kept;
}

export default [
  check("pipeTo carries all bytes, closes the sink and unlocks", [null, events(3), "closed", false, false], async (t) => {
    const { body } = await t.open("event event event");
    const to = sink();
    const result = await body.pipeTo(to.stream);
    return [result ?? null, to.text, to.ended, body.locked, to.stream.locked];
  }),
  check("pipeTo locks the body while it runs", [true, true], async (t) => {
    const { body } = await t.open("event gate");
    const to = sink();
    const piped = body.pipeTo(to.stream);
    const during = [body.locked, to.stream.locked];
    await t.openGate();
    await piped;
    return during;
  }),
  check("preventClose leaves the sink open", [events(1), "open"], async (t) => {
    const to = sink();
    await (await t.open("event")).body.pipeTo(to.stream, { preventClose: true });
    return [to.text, to.ended];
  }),
  check("preventCancel leaves the body open when the sink fails", ["rejects the reason", events(1)], async (t) => {
    const { body } = await t.open("event gate event");
    const failing = new WritableStream({
      start: (controller) => controller.error(t.reason),
    });
    const outcome = await t.outcome(() => body.pipeTo(failing, { preventCancel: true }));
    return [outcome, new TextDecoder().decode((await body.getReader().read()).value)];
  }),
  check("preventAbort leaves the sink open when the body fails", "open", async (t) => {
    const { body } = await t.open("event cut");
    const to = sink();
    await t.outcome(() => body.pipeTo(to.stream, { preventAbort: true, preventClose: true }));
    return to.ended;
  }),
  check("a failing body aborts the sink with the error of pipeTo", ["rejects TypeError", "TypeError"], async (t) => {
    const { body } = await t.open("event cut");
    const to = sink();
    return [await t.outcome(() => body.pipeTo(to.stream)), to.ended];
  }, { differs: { WebKit: ["resolves", "closed"] } }),
  check("a sink that fails later rejects the pipe with its reason", ["rejects the reason", false], async (t) => {
    const { body } = await t.open("event hold");
    const to = sink({ write: () => Promise.reject(t.reason) });
    return [await t.outcome(() => body.pipeTo(to.stream)), body.locked];
  }),
  check("pipeTo refuses a missing sink, and the body stays readable", ["rejects TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const outcome = await t.outcome(() => body.pipeTo({}));
    return [outcome, body.locked, await t.readAll(body)];
  }),
  check("pipeTo refuses a locked sink, and the body stays readable", ["rejects TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const to = sink().stream;
    to.getWriter();
    const outcome = await t.outcome(() => body.pipeTo(to));
    return [outcome, body.locked, await t.readAll(body)];
  }),
  check("pipeTo refuses a bad signal, and the body stays readable", ["rejects TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const outcome = await t.outcome(() => body.pipeTo(sink().stream, { signal: {} }));
    return [outcome, body.locked, await t.readAll(body)];
  }),
  check("pipeTo without arguments rejects", ["rejects TypeError", false], async (t) => {
    const { body } = await t.open("event");
    return [await t.outcome(() => body.pipeTo()), body.locked];
  }),
  check("pipeThrough carries all text", events(3), async (t) =>
    t.readAll((await t.open("event event event")).body.pipeThrough(new TextDecoderStream()))),
  check("pipeThrough returns the readable side itself", true, async (t) => {
    const pair = new TransformStream();
    return (await t.open("event")).body.pipeThrough(pair) === pair.readable;
  }),
  check("pipeThrough locks the body at once and unlocks it at the end", [true, events(1), false], async (t) => {
    const { body } = await t.open("event");
    const through = body.pipeThrough(new TransformStream());
    const { locked } = body;
    const text = await t.readAll(through);
    await t.settle();
    return [locked, text, body.locked];
  }),
  check("two pipes in a row carry all text", events(2).toUpperCase(), async (t) => {
    const upper = new TransformStream({ transform: (text, to) => to.enqueue(text.toUpperCase()) });
    return t.readAll((await t.open("event event")).body.pipeThrough(new TextDecoderStream()).pipeThrough(upper));
  }),
  check("pipeThrough with DecompressionStream carries all text", "hello hello", async (t) => {
    const { body } = await t.open(`hex=${HELLO}`, {}, { type: "application/octet-stream" });
    return t.readAll(body.pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()));
  }),
  ...[
    ["nothing", () => undefined],
    ["an empty object", () => ({})],
    ["only a readable side", () => ({ readable: new ReadableStream() })],
    ["only a writable side", () => ({ writable: new WritableStream() })],
    ["sides that are no streams", () => ({ readable: {}, writable: {} })],
  ].map(([what, pair]) =>
    check(`pipeThrough refuses ${what}, and the body stays readable`, ["throws TypeError", false, events(1)], async (t) => {
      const { body } = await t.open("event");
      const outcome = await t.outcome(() => body.pipeThrough(pair()));
      return [outcome, body.locked, await t.readAll(body)];
    }),
  ),
  check("pipeThrough refuses a locked sink, and the body is unlocked", ["throws TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const pair = new TransformStream();
    pair.writable.getWriter();
    const outcome = await t.outcome(() => body.pipeThrough(pair));
    return [outcome, body.locked, await t.readAll(body)];
  }),
  check("a pipe method called on another stream pipes that stream", "other", async (t) => {
    const { body } = await t.open("event");
    const other = new Response("other").body;
    return t.readAll(body.pipeThrough.call(other, new TextDecoderStream()));
  }),
  check("a pipe's own signal stops it with the reason", ["rejects the reason", "the reason", false], async (t) => {
    const { body } = await t.open("event hold");
    const controller = new AbortController();
    let aborted;
    const to = new WritableStream({ abort: (reason) => void (aborted = t.errorName(reason)) });
    const outcome = t.outcome(() => body.pipeTo(to, { signal: controller.signal }));
    await t.settle();
    controller.abort(t.reason);
    return [await outcome, aborted, body.locked];
  }, { tooLongMs: 8000, differs: { WebKit: "did not end" } }),
  check("a signal aborted in advance stops the pipe", "rejects the reason", async (t) => {
    const { body } = await t.open("event hold");
    return t.outcome(() => body.pipeTo(sink().stream, { signal: AbortSignal.abort(t.reason) }));
  }),
];
