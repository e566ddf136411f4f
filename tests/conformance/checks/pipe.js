// Pipes carry every byte, end as they should, and refuse what they refuse.

import { check, events } from "../tools.js";

/** "hello hello", deflated. */
const HELLO = "cb48cdc9c957c8009100";

/** A sink that keeps the text, and says how it ended. */
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
  check("pipeTo carries all bytes, closes the sink and lets go", [null, events(3), "closed", false, false], async (t) => {
    const { body } = await t.open("event event event");
    const to = sink();
    const result = await body.pipeTo(to.stream);
    return [result ?? null, to.text, to.ended, body.locked, to.stream.locked];
  }),
  check("pipeTo locks while it runs", [true, true], async (t) => {
    const { body } = await t.open("event gate");
    const to = sink();
    const piped = body.pipeTo(to.stream);
    const during = [body.locked, to.stream.locked];
    await t.go();
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
    const how = await t.how(() => body.pipeTo(failing, { preventCancel: true }));
    return [how, new TextDecoder().decode((await body.getReader().read()).value)];
  }),
  check("preventAbort leaves the sink open when the body fails", "open", async (t) => {
    const { body } = await t.open("event cut");
    const to = sink();
    await t.how(() => body.pipeTo(to.stream, { preventAbort: true, preventClose: true }));
    return to.ended;
  }),
  check("a failing body aborts the sink with the app's error", ["rejects TypeError", "TypeError"], async (t) => {
    const { body } = await t.open("event cut");
    const to = sink();
    return [await t.how(() => body.pipeTo(to.stream)), to.ended];
  }, { differs: { WebKit: ["resolves", "closed"] } }),
  check("a sink that fails later rejects the pipe with its reason", ["rejects the reason", false], async (t) => {
    const { body } = await t.open("event hold");
    const to = sink({ write: () => Promise.reject(t.reason) });
    return [await t.how(() => body.pipeTo(to.stream)), body.locked];
  }),
  check("pipeTo refuses a missing sink, and the body stays readable", ["rejects TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const how = await t.how(() => body.pipeTo({}));
    return [how, body.locked, await t.read(body)];
  }),
  check("pipeTo refuses a locked sink, and the body stays readable", ["rejects TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const to = sink().stream;
    to.getWriter();
    const how = await t.how(() => body.pipeTo(to));
    return [how, body.locked, await t.read(body)];
  }),
  check("pipeTo refuses a bad signal, and the body stays readable", ["rejects TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const how = await t.how(() => body.pipeTo(sink().stream, { signal: {} }));
    return [how, body.locked, await t.read(body)];
  }),
  check("pipeTo without arguments is refused", ["rejects TypeError", false], async (t) => {
    const { body } = await t.open("event");
    return [await t.how(() => body.pipeTo()), body.locked];
  }),
  check("pipeThrough carries all text", events(3), async (t) =>
    t.read((await t.open("event event event")).body.pipeThrough(new TextDecoderStream()))),
  check("pipeThrough gives back the readable side itself", true, async (t) => {
    const pair = new TransformStream();
    return (await t.open("event")).body.pipeThrough(pair) === pair.readable;
  }),
  check("pipeThrough locks at once, and lets go at the end", [true, events(1), false], async (t) => {
    const { body } = await t.open("event");
    const through = body.pipeThrough(new TransformStream());
    const { locked } = body;
    const text = await t.read(through);
    await t.settle();
    return [locked, text, body.locked];
  }),
  check("two pipes in a row carry all text", events(2).toUpperCase(), async (t) => {
    const upper = new TransformStream({ transform: (text, to) => to.enqueue(text.toUpperCase()) });
    return t.read((await t.open("event event")).body.pipeThrough(new TextDecoderStream()).pipeThrough(upper));
  }),
  check("pipeThrough decompresses", "hello hello", async (t) => {
    const { body } = await t.open(`hex=${HELLO}`, {}, { type: "application/octet-stream" });
    return t.read(body.pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream()));
  }),
  ...[
    ["nothing", () => undefined],
    ["an empty object", () => ({})],
    ["only a readable side", () => ({ readable: new ReadableStream() })],
    ["only a writable side", () => ({ writable: new WritableStream() })],
    ["sides that are no streams", () => ({ readable: {}, writable: {} })],
  ].map(([what, pair]) =>
    check(`pipeThrough refuses ${what} without effect`, ["throws TypeError", false, events(1)], async (t) => {
      const { body } = await t.open("event");
      const how = await t.how(() => body.pipeThrough(pair()));
      return [how, body.locked, await t.read(body)];
    }),
  ),
  check("pipeThrough refuses a locked writable side without effect", ["throws TypeError", false, events(1)], async (t) => {
    const { body } = await t.open("event");
    const pair = new TransformStream();
    pair.writable.getWriter();
    const how = await t.how(() => body.pipeThrough(pair));
    return [how, body.locked, await t.read(body)];
  }),
  check("a pipe that is called on another stream pipes that one", "other", async (t) => {
    const { body } = await t.open("event");
    const other = new Response("other").body;
    return t.read(body.pipeThrough.call(other, new TextDecoderStream()));
  }),
  check("a pipe is stopped by its own signal, with the reason", ["rejects the reason", "the reason", false], async (t) => {
    const { body } = await t.open("event hold");
    const controller = new AbortController();
    let aborted;
    const to = new WritableStream({ abort: (reason) => void (aborted = t.named(reason)) });
    const how = t.how(() => body.pipeTo(to, { signal: controller.signal }));
    await t.settle();
    controller.abort(t.reason);
    return [await how, aborted, body.locked];
  }, { tooLongMs: 8000, differs: { WebKit: "did not end" } }),
  check("a signal that has aborted before stops the pipe", "rejects the reason", async (t) => {
    const { body } = await t.open("event hold");
    return t.how(() => body.pipeTo(sink().stream, { signal: AbortSignal.abort(t.reason) }));
  }),
];
