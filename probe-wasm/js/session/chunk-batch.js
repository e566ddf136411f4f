// Chunks that wait to be read together. One by one, each would find the code that reads it cold.

/** How many bytes of chunks may wait. */
const BATCH_BYTES = 16_384;

/** `read` gets each chunk with its stream and time, in their order. */
export function createChunkBatch(read) {
  /** The stream and time of each chunk, and where in `bytes` it ends. */
  const chunks = [];
  const bytes = new Uint8Array(BATCH_BYTES);
  let length = 0;

  return { add, readAll, readTimed };

  /** True if there was room for the chunk. */
  function add(stream, time, chunk) {
    if (length + chunk.length > BATCH_BYTES) return false;
    // A copy, as the page may transfer the buffer.
    bytes.set(chunk, length);
    length += chunk.length;
    chunks.push([stream, time, length]);
    return true;
  }

  function readAll() {
    let from = 0;
    length = 0;
    for (const [stream, time, to] of chunks.splice(0)) {
      read(stream, time, bytes.subarray(from, to));
      from = to;
    }
  }

  /** The same. The time that it takes is added to the newest stream, as `late`. */
  function readTimed() {
    if (!length) return;
    const begun = performance.now();
    const [newest] = chunks.at(-1);
    readAll();
    newest.late = (newest.late ?? 0) + performance.now() - begun;
  }
}
