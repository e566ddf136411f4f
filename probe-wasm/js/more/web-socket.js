// Answers over WebSocket: each text that the app sends while none is under way asks for one, and each
// text that comes is an event of it. A socket has no status, and an answer in it no end of its own: its
// end marker is its end, as `ends` or the content shows it.

import { CANCELLED, CHUNK, CLOSED, FAILED, OPEN, READ } from "../moments.js";
import { END_MARKER, FIRST_TOKEN } from "../seen.js";
import { createBurst } from "./burst.js";
import { watchConstructor, watchMethod } from "./constructor.js";

/** What follows an end marker, such as a count of tokens, belongs to the answer for this long. */
const AFTER_END_MS = 500;

/**
 * Watches the sockets whose address `isStream` takes. `asks` takes the sent texts that ask for an answer
 * (default: each), and `ends` the texts that end one.
 */
export const webSocket = ({ isStream, asks = () => true, ends = () => false }) => (core) => {
  const watching = new WeakMap();
  return {
    stop: watchConstructor("WebSocket", (socket) =>
      core.guard(() => core.attempt(() => isStream(socket.url)) && watchSocket(core, socket, { asks, ends }, watching)),
    ),
    saw: (stream, moment) => moment == CHUNK && stream.seen & END_MARKER && watching.get(stream)?.(),
  };
};

function watchSocket({ tell, guard, attempt }, socket, { asks, ends }, watching) {
  let stream, timer, heard;

  const burst = createBurst((text, time) => {
    heard = time;
    if (stream) tell(stream, CHUNK, new TextEncoder().encode(text), time);
  });
  for (const [type, listener] of [
    ["message", ({ data }) => typeof data == "string" && stream && received(data)],
    ["error", () => end(FAILED)],
    ["close", ({ wasClean }) => end(wasClean ? CLOSED : FAILED)],
  ])
    socket.addEventListener(type, (event) => guard(() => listener(event)));
  watchMethod(socket, "send", ([data]) => guard(() => socket.readyState == socket.OPEN && sent(data)));
  watchMethod(socket, "close", () => guard(() => end(CANCELLED)));

  function sent(data) {
    if (typeof data != "string" || !attempt(() => asks(data))) return;
    // An answer that has ended by now waits for what may follow it no longer.
    burst.flush();
    if (timer) ended();
    if (stream) return;
    stream = { time: performance.now(), url: socket.url };
    watching.set(stream, soon);
    for (const moment of [OPEN, READ]) tell(stream, moment, undefined, stream.time);
  }

  function received(data) {
    burst.put(`data: ${data.replace(/\r\n?|\n/g, "\ndata: ")}\n\n`, stream.seen & FIRST_TOKEN);
    if (attempt(() => ends(data))) {
      burst.flush();
      ended();
    }
  }

  function soon() {
    clearTimeout(timer);
    timer = setTimeout(() => guard(ended), AFTER_END_MS);
  }

  function ended() {
    end(CLOSED, heard);
  }

  function end(moment, time = performance.now()) {
    burst.flush();
    clearTimeout(timer);
    if (stream) tell(stream, moment, undefined, time);
    stream = timer = undefined;
  }
}
