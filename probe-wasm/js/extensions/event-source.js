// Watches streams over EventSource. The browser parses them and shows events only, so they are framed again for the
// probe. Comments, which carry a server's own timing, never reach a page this way.

import { FIRST_TOKEN } from "../session/progress-flags.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, HEADERS, OPEN, READ } from "../tap/tap-events.js";
import { listen, watchClass } from "./class-patch.js";
import { createTaskCoalescer } from "./task-coalescer.js";

const OPENED = { status: 200, headers: new Headers({ "content-type": "text/event-stream" }) };

/**
 * Watches each EventSource of the page, or those whose address `isStream` accepts. `optionsOf` returns the options of the
 * streams of an address.
 */
export const eventSource = ({ isStream = () => true, optionsOf } = {}) => (core) => ({
  stop: watchClass(
    core,
    "EventSource",
    ["close", "addEventListener"],
    (source, time) => core.attempt(() => isStream(source.url)) && watchSource(core, source, time, optionsOf),
  ),
});

function watchSource(core, source, time, optionsOf) {
  const { emit } = core;
  const types = new Set();
  const task = createTaskCoalescer((text, time) => emit(stream, CHUNK, new TextEncoder().encode(text), time));
  let stream = begin(time);
  let answered;
  /** When the browser began to connect again. */
  let lost;
  let lastId = "";

  hear("open", onOpen);
  hear("message");
  hear("error", onError);
  return {
    close: () => end(CANCELLED),
    // A type that is no text yet is made one by the call.
    addEventListener: ([type]) => typeof type == "string" && hear(type),
  };

  function begin(time) {
    const { url } = source;
    const stream = { time, url, own_: core.attempt(() => optionsOf?.(url)) };
    emit(stream, OPEN, undefined, time);
    return stream;
  }

  /** Listens before any listener of the app's. A server may name its events as the browser names its own. */
  function hear(type, listener = onMessage) {
    if (types.has(type)) return;
    types.add(type);
    listen(core, source, type, (event) => ("data" in event ? onMessage : listener)(event));
  }

  function onOpen() {
    // A browser that connects again makes another request. Whether the response goes on or begins anew is the
    // server's to decide: as with a client that uses fetch, each response is a stream.
    stream ??= begin(lost);
    answered = true;
    for (const event of [HEADERS, READ]) emit(stream, event, OPENED, performance.now());
  }

  function onMessage({ type, data, lastEventId }) {
    if (!stream || typeof data != "string") return;
    const name = type == "message" ? "" : `event: ${type}\n`;
    const id = lastEventId == lastId ? "" : `id: ${(lastId = lastEventId)}\n`;
    // Up to the first token each event is passed on before the app gets it, so that `paint` can look at the page.
    task.put(`${name}${id}data: ${data.replaceAll("\n", "\ndata: ")}\n\n`, stream.seen & FIRST_TOKEN);
  }

  /** A page is not told what broke, and how: a response ends, and a request without one failed. */
  function onError() {
    lost = stream ? performance.now() : lost;
    end(answered ? CLOSED : FAILED);
  }

  function end(event) {
    task.flush();
    if (stream) emit(stream, event, undefined, performance.now());
    stream = answered = undefined;
  }
}
