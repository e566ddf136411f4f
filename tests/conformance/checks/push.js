// Backpressure: if the app does not read, the server has to stop sending.

import { UNSUPPORTED, check } from "../tools.js";

/** Two floods of 96 MiB take long on a busy machine. */
const tooLongMs = 90_000;
/** Firefox and WebKit buffer the whole body, however little the app reads. */
const UNBOUNDED = { tooLongMs, differs: { Firefox: "unbounded", WebKit: "unbounded" } };

export default [
  check("an unread body stalls the server", "stalled", async (t) => {
    await t.open("flood");
    return t.floodResult();
  }, UNBOUNDED),
  check("a body with one read chunk stalls the server", "stalled", async (t) => {
    const reader = (await t.open("flood")).body.getReader();
    await reader.read();
    return t.floodResult();
  }, UNBOUNDED),
  check("a slow sink stalls the server", "stalled", async (t) => {
    const { body } = await t.open("flood");
    void body.pipeTo(new WritableStream({ write: () => new Promise(() => {}) }));
    return t.floodResult();
  }, UNBOUNDED),
  check("an unread pipe stalls the server", "stalled", async (t) => {
    const through = (await t.open("flood")).body.pipeThrough(new TransformStream());
    return [await t.floodResult(), through.locked][0];
  }, UNBOUNDED),
  check("a paused iteration stalls the server", "stalled", async (t) => {
    const { body } = await t.open("flood");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    await body[Symbol.asyncIterator]().next();
    return t.floodResult();
  }, { tooLongMs, differs: { Firefox: "unbounded", WebKit: UNSUPPORTED } }),
  check("two unread branches of a tee stall the server", "stalled", async (t) => {
    const branches = (await t.open("flood")).body.tee();
    return [await t.floodResult(), branches.length][0];
  }, UNBOUNDED),
];
