// What the app does not read, the server cannot send: the probe takes nothing on its own account.

import { UNSUPPORTED, check } from "../tools.js";

/** Two times 96 MB take a while where the machine has much else to do. */
const tooLongMs = 90_000;
/** These take everything themselves, whatever the app reads. */
const UNBOUNDED = { tooLongMs, differs: { Firefox: "unbounded", WebKit: "unbounded" } };

export default [
  check("an unread body holds the server back", "stalled", async (t) => {
    await t.open("flood");
    return t.flood();
  }, UNBOUNDED),
  check("a body of which one chunk was read holds the server back", "stalled", async (t) => {
    const reader = (await t.open("flood")).body.getReader();
    await reader.read();
    return t.flood();
  }, UNBOUNDED),
  check("a slow sink holds the server back", "stalled", async (t) => {
    const { body } = await t.open("flood");
    void body.pipeTo(new WritableStream({ write: () => new Promise(() => {}) }));
    return t.flood();
  }, UNBOUNDED),
  check("an unread pipe holds the server back", "stalled", async (t) => {
    const through = (await t.open("flood")).body.pipeThrough(new TransformStream());
    return [await t.flood(), through.locked][0];
  }, UNBOUNDED),
  check("a loop that pauses holds the server back", "stalled", async (t) => {
    const { body } = await t.open("flood");
    if (!body[Symbol.asyncIterator]) return UNSUPPORTED;
    await body[Symbol.asyncIterator]().next();
    return t.flood();
  }, { tooLongMs, differs: { Firefox: "unbounded", WebKit: UNSUPPORTED } }),
  check("two unread branches hold the server back", "stalled", async (t) => {
    const branches = (await t.open("flood")).body.tee();
    return [await t.flood(), branches.length][0];
  }, UNBOUNDED),
];
