// Answers over EventSource. The browser parses them and shows events only, so they are framed again for
// the probe; comments, which carry a server's own timing, never reach a page this way.

import { CANCELLED, CHUNK, CLOSED, FAILED, HEADERS, OPEN, READ } from "../tap/tap-events.js";
import { FIRST_TOKEN } from "../session/progress-flags.js";
import { createBurst } from "./task-coalescer.js";
import { listen, watchClass } from "./class-patch.js";

const OPENED = { status: 200, headers: new Headers({ "content-type": "text/event-stream" }) };

/** Watches each EventSource of the page, or those whose address `isStream` takes. */
export const eventSource = ({ isStream = () => true } = {}) => (core) => ({
  stop: watchClass(
    core,
    "EventSource",
    ["close", "addEventListener"],
    (source, time) => core.attempt(() => isStream(source.url)) && watchSource(core, source, time),
  ),
});

function watchSource(core, source, time) {
  const { tell } = core;
  const types = new Set();
  const burst = createBurst((text, time) => tell(stream, CHUNK, new TextEncoder().encode(text), time));
  let stream = begin(time);
  let answered;
  /** When the browser began to connect again. */
  let lost;
  let lastId = "";

  hear("open", opened);
  hear("message", event);
  hear("error", failed);
  return {
    close: () => end(CANCELLED),
    // What is no text yet is made one by the call.
    addEventListener: ([type]) => typeof type == "string" && hear(type, event),
  };

  function begin(time) {
    const stream = { time, url: source.url };
    tell(stream, OPEN, undefined, time);
    return stream;
  }

  /** Before any listener of the app's. A server may call its events as the browser calls its own. */
  function hear(type, heard) {
    if (types.has(type)) return;
    types.add(type);
    listen(core, source, type, (happened) => ("data" in happened ? event : heard)(happened));
  }

  function opened() {
    // A browser that connects again makes another request. Whether its answer goes on or begins anew
    // is the server's to decide: as with a client that uses fetch, each answer is a stream.
    stream ??= begin(lost);
    answered = true;
    for (const moment of [HEADERS, READ]) tell(stream, moment, OPENED, performance.now());
  }

  function event({ type, data, lastEventId }) {
    if (!stream || typeof data != "string") return;
    const name = type == "message" ? "" : `event: ${type}\n`;
    const id = lastEventId == lastId ? "" : `id: ${(lastId = lastEventId)}\n`;
    // Up to the first token each is told before the app gets it: the page may be looked at then.
    burst.put(`${name}${id}data: ${data.replaceAll("\n", "\ndata: ")}\n\n`, stream.seen & FIRST_TOKEN);
  }

  /** What broke, and how, a page is not told: an answer ends, and a request without one failed. */
  function failed() {
    lost = stream ? performance.now() : lost;
    end(answered ? CLOSED : FAILED);
  }

  function end(moment) {
    burst.flush();
    if (stream) tell(stream, moment, undefined, performance.now());
    stream = answered = undefined;
  }
}
