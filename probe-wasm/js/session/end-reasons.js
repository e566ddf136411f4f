// How a stream ended, as the facade tells a watcher. `src/session.rs` reads the same numbers.

export const CLOSED = 0;
export const FAILED = 1;
/** The app cancelled the body: it may have seen the end marker in it. */
export const CANCELLED = 2;
export const TIMED_OUT = 3;
export const PAGE_GONE = 4;
/** Nobody watches any longer, or it was read in a way that showed nothing of the content. */
export const UNSEEN = 5;
/** The app's signal aborted it. */
export const ABORTED = 6;
