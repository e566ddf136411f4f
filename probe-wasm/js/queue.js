// Holds what the tap tells until the probe can listen. Bounded: a stream that does not fit is given
// up as a whole, since half of one would look like a fault of the server.

import { CHUNK } from "./moments.js";

// Together at most 1 MiB of chunks and 2,048 moments.
const ROOM = 1 << 20;
const MOMENT = 512;

/** A sink that keeps its calls in `held`; a stream that it gives up is marked `early`. */
export function holdIn(held) {
  let room = ROOM;
  return (stream, moment, value, time) => {
    // The page may transfer the buffer before the probe sees it.
    if (moment == CHUNK) value = value.slice();
    room -= MOMENT + (value?.length | 0);
    if (room < 0) stream.early = true;
    if (!stream.early) held.push([stream, moment, value, time]);
  };
}
