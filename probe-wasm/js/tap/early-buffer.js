// Buffers the tap's events until the probe can listen. The buffer is bounded, and a stream that does not fit is dropped
// as a whole: half of one would look like a fault of the server.

import { CHUNK } from "./tap-events.js";

/**
 * A sink that appends its calls to `buffer` and marks the streams that it drops as `overflowed`. An event counts as 512
 * bytes: together at most a megabyte of chunks, and 1,953 events.
 */
export function bufferInto(buffer, room = 1e6) {
  return (stream, event, value, time) => {
    if (stream.overflowed_) return;
    // Parsed JSON may have a `length` of any kind.
    room -= 512 + (value?.length | 0);
    stream.overflowed_ = room < 0;
    // The page may transfer the bytes before the probe sees them.
    if (!stream.overflowed_) buffer.push([stream, event, event == CHUNK ? value.slice() : value, time]);
  };
}
