// Holds what the tap tells until the probe can listen. Bounded: a stream that does not fit is given
// up as a whole, since half of one would look like a fault of the server.

import { CHUNK } from "./tap-events.js";

/**
 * A sink that keeps its calls in `held`; a stream that it gives up is marked `early`. A moment counts as 512 bytes:
 * together at most a megabyte of chunks, and 1,953 moments.
 */
export function holdIn(held, room = 1e6) {
  return (stream, moment, value, time) => {
    stream.early ||= (room -= 512 + (value?.length | 0)) < 0;
    // The page may transfer the buffer before the probe sees it.
    if (!stream.early) held.push([stream, moment, moment == CHUNK ? value.slice() : value, time]);
  };
}
