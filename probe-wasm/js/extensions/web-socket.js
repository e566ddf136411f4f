// Answers over WebSocket: each text that the app sends while none is under way asks for one, and each
// text that comes is an event of it. A socket has no status, and an answer in it no end of its own: its
// end marker is its end, as `ends` or the content shows it.

import { CANCELLED, CHUNK, CLOSED, FAILED, OPEN, READ } from "../tap/tap-events.js";
import { END_MARKER, FIRST_TOKEN } from "../session/progress-flags.js";
import { createBurst } from "./task-coalescer.js";
import { listen, watchClass } from "./class-patch.js";

/** What follows an end marker, such as a count of tokens, belongs to the answer for this long. */
const AFTER_END_MS = 500;

/** What sockets may hold together until the probe can read, where each thing that happens counts as 512. */
const HELD_LENGTH = 500_000;

/**
 * Watches the sockets whose address `isStream` takes. `asks` takes the sent texts that ask for an answer
 * (default: each while none is under way), and `ends` the texts that end one.
 */
export const webSocket = ({ isStream, asks, ends = () => false }) => (core) => {
  const watching = new WeakMap();
  const app = { asks, ends, space: HELD_LENGTH };
  const giveBack = watchClass(
    core,
    "WebSocket",
    ["send", "close"],
    (socket) => core.attempt(() => isStream(socket.url)) && watchSocket(core, socket, app, watching),
  );
  return {
    stop() {
      app.space = 0;
      giveBack();
    },
    saw: (stream, moment) => watching.get(stream)?.(moment),
  };
};

function watchSocket(core, socket, app, watching) {
  const { tell, guard, attempt } = core;
  let stream, timer, heard;
  /** What happens while nobody can read: to which answer it belongs, the content of the earlier ones shows. */
  let held;

  const burst = createBurst((text, time) => happen(() => chunk(text, time), text.length));
  listen(core, socket, "message", ({ data }) => typeof data == "string" && stream && received(data));
  listen(core, socket, "error", () => ends(FAILED));
  listen(core, socket, "close", ({ wasClean }) => ends(wasClean ? CLOSED : FAILED));
  return {
    send: ([data]) => socket.readyState == socket.OPEN && sent(data),
    close: () => ends(CANCELLED),
  };

  function sent(data) {
    if (typeof data != "string" || (app.asks && !attempt(() => app.asks(data)))) return;
    const time = performance.now();
    burst.flush();
    // An answer that was given up takes none with it that is asked for later.
    if (stream?.early) stream = held = undefined;
    happen(() => ask(time));
  }

  function received(data) {
    burst.put(`data: ${data.replace(/\r\n?|\n/g, "\ndata: ")}\n\n`, stream.seen & FIRST_TOKEN);
    if (attempt(() => app.ends(data))) {
      burst.flush();
      happen(ended);
    }
  }

  function ends(moment) {
    const time = performance.now();
    burst.flush();
    happen(() => end(moment, time));
  }

  /** At once, or in its turn when the first answer can be read; what does not fit gives it up as a whole. */
  function happen(job, length = 0) {
    if (!held) return job();
    stream.early ||= (app.space -= 512 + length) < 0;
    if (stream.early) held.length = 0;
    else held.push(job);
  }

  function ask(time) {
    // An answer that has ended by now waits for what may follow it no longer.
    if (timer) ended();
    // Where the app says what asks, no more comes of what it has asked before.
    if (app.asks) end(heard ? CLOSED : CANCELLED, heard ?? time);
    if (stream) return;
    stream = { time, url: socket.url };
    heard = undefined;
    watching.set(stream, saw);
    held = [];
    for (const moment of [OPEN, READ]) tell(stream, moment, undefined, time);
  }

  function chunk(text, time) {
    if (timer && time - heard > AFTER_END_MS) ended();
    heard = time;
    if (stream) tell(stream, CHUNK, new TextEncoder().encode(text), time);
  }

  function saw(moment) {
    if (moment == OPEN) {
      const jobs = held ?? [];
      held = undefined;
      for (const job of jobs) job();
    } else if (moment == CHUNK && stream.seen & END_MARKER) {
      clearTimeout(timer);
      timer = setTimeout(() => guard(over), AFTER_END_MS);
    }
  }

  function over() {
    burst.flush();
    ended();
  }

  function ended() {
    end(CLOSED, heard);
  }

  function end(moment, time) {
    clearTimeout(timer);
    if (stream) tell(stream, moment, undefined, time);
    stream = timer = undefined;
  }
}
