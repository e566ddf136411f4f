// Watches streams over WebSocket. Each text that the app sends while no stream is open asks for one, and each text that
// comes is an event of it. A socket has no status, and a stream in it no end of its own: its end marker is its end, as
// `ends` or the content shows it.

import { END_MARKER, FIRST_TOKEN } from "../session/progress-flags.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, OPEN, READ } from "../tap/tap-events.js";
import { listen, watchClass } from "./class-patch.js";
import { createTaskCoalescer } from "./task-coalescer.js";

/** What follows an end marker, such as a count of tokens, belongs to the stream for this long. */
const AFTER_END_MS = 500;

/** How much all sockets together may buffer until the probe can read; each event counts as 512. */
const BUFFER_LENGTH = 500_000;

/**
 * Watches the sockets whose address `isStream` accepts. `asks` accepts the sent texts that ask for a stream (default:
 * each while none is open), and `ends` the texts that end one.
 */
export const webSocket = ({ isStream, asks, ends = () => false }) => (core) => {
  const watching = new WeakMap();
  const app = { asks, ends, space: BUFFER_LENGTH };
  const undo = watchClass(
    core,
    "WebSocket",
    ["send", "close"],
    (socket) => core.attempt(() => isStream(socket.url)) && watchSocket(core, socket, app, watching),
  );
  return {
    stop() {
      app.space = 0;
      undo();
    },
    onEvent: (stream, event) => watching.get(stream)?.(event),
  };
};

function watchSocket(core, socket, app, watching) {
  const { emit, guard, attempt } = core;
  let stream, timer, lastTextAt;
  /** Jobs of the time before the probe can read: only the content of earlier streams shows whose they are. */
  let pending;

  const task = createTaskCoalescer((text, time) => inTurn(() => chunk(text, time), text.length));
  listen(core, socket, "message", ({ data }) => typeof data == "string" && stream && onText(data));
  listen(core, socket, "error", () => endInTurn(FAILED));
  listen(core, socket, "close", ({ wasClean }) => endInTurn(wasClean ? CLOSED : FAILED));
  return {
    send: ([data]) => socket.readyState == socket.OPEN && onSend(data),
    close: () => endInTurn(CANCELLED),
  };

  function onSend(data) {
    if (typeof data != "string" || (app.asks && !attempt(() => app.asks(data)))) return;
    const time = performance.now();
    task.flush();
    // A stream that was dropped takes no later one with it.
    if (stream?.overflowed_) stream = pending = undefined;
    inTurn(() => ask(time));
  }

  function onText(data) {
    task.put(`data: ${data.replace(/\r\n?|\n/g, "\ndata: ")}\n\n`, stream.seen & FIRST_TOKEN);
    if (attempt(() => app.ends(data))) {
      task.flush();
      inTurn(close);
    }
  }

  function endInTurn(event) {
    const time = performance.now();
    task.flush();
    inTurn(() => end(event, time));
  }

  /** Runs the job at once, or in its turn when the first stream can be read. One that does not fit drops the stream. */
  function inTurn(job, length = 0) {
    if (!pending) return job();
    stream.overflowed_ ||= (app.space -= 512 + length) < 0;
    if (stream.overflowed_) pending.length = 0;
    else pending.push(job);
  }

  function ask(time) {
    // A stream that has had its end marker waits no longer for what may follow.
    if (timer) close();
    // Where the app says which texts ask, no more comes of what it has asked before.
    if (app.asks) end(lastTextAt ? CLOSED : CANCELLED, lastTextAt ?? time);
    if (stream) return;
    stream = { time, url: socket.url };
    lastTextAt = undefined;
    watching.set(stream, onEvent);
    pending = [];
    for (const event of [OPEN, READ]) emit(stream, event, undefined, time);
  }

  function chunk(text, time) {
    if (timer && time - lastTextAt > AFTER_END_MS) close();
    lastTextAt = time;
    if (stream) emit(stream, CHUNK, new TextEncoder().encode(text), time);
  }

  function onEvent(event) {
    if (event == OPEN) {
      const jobs = pending ?? [];
      pending = undefined;
      for (const job of jobs) job();
    } else if (event == CHUNK && stream.seen & END_MARKER) {
      clearTimeout(timer);
      timer = setTimeout(() => guard(closeLate), AFTER_END_MS);
    }
  }

  function closeLate() {
    task.flush();
    close();
  }

  function close() {
    end(CLOSED, lastTextAt);
  }

  function end(event, time) {
    clearTimeout(timer);
    if (stream) emit(stream, event, undefined, time);
    stream = timer = undefined;
  }
}
