// What has been seen of a stream, as a watcher tells with each chunk: bits of one number, set by
// `src/session.rs`.

/** Generated text of any kind. */
export const FIRST_TOKEN = 1;
/** Text that the user reads. */
export const FIRST_VISIBLE = 2;
/** The end marker of its dialect. */
export const END_MARKER = 4;
/** That it takes the larger probe to read it. */
export const NEEDS_FULL_WASM = 8;
