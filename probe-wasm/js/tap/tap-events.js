// What the tap tells of a stream: `sink(stream, moment, value, time)`, in this order.

/** The request was made. */
export const OPEN = 0;
/** The answer began: the Response. */
export const HEADERS = 1;
/** The app asked for body bytes for the first time. */
export const READ = 2;
/** The app got bytes: a Uint8Array that is valid only during the call. */
export const CHUNK = 3;

// Each of these is a stream's last.

/** The source closed, and all its bytes were told. */
export const CLOSED = 4;
/** The request or a read failed: the error. */
export const FAILED = 5;
/** The app cancelled the body. */
export const CANCELLED = 6;
/** The app got the rest of the body in one piece, by `text()` or its kin: that piece. */
export const WHOLE = 7;
/** It turned out to be no stream: nothing is to be reported. */
export const FORGET = 8;
