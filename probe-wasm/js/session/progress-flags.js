// What a stream has brought so far, as a watcher returns it with each chunk: bits of one number, set by
// `src/session.rs`.

/** Generated text of any kind. */
export const FIRST_TOKEN = 1;
/** Text that the user reads. */
export const FIRST_VISIBLE = 2;
/** The end marker of its dialect, or an error. */
export const END_MARKER = 4;
/** A format that only the full Wasm reads. */
export const NEEDS_FULL_WASM = 8;
