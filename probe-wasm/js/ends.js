// How a stream ended, as the facade tells a session. `src/session.rs` reads the same numbers.

export const CLOSED = 0;
export const FAILED = 1;
export const CANCELLED = 2;
export const TIMED_OUT = 3;
export const PAGE_GONE = 4;
/** Read to its end in a way that showed nothing of the content. */
export const UNSEEN = 5;
