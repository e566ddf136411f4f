// The events of a stream that the tap passes to its sink, in this order: `sink(stream, event, value, time)`.

/** The request was made. */
export const OPEN = 0;
/** The response began; the value is the Response. */
export const HEADERS = 1;
/** The app asked for bytes of the body for the first time. */
export const READ = 2;
/** The app got bytes; the value is a Uint8Array that is valid only during the call. */
export const CHUNK = 3;

// Each of these is a stream's last.

/** The source closed, and all its bytes were passed on. */
export const CLOSED = 4;
/** The request or a read failed; the value is the error. */
export const FAILED = 5;
/** The app cancelled the body. */
export const CANCELLED = 6;
/** The app got the rest of the body in one piece, by `text()` or the like; the value is that piece. */
export const WHOLE = 7;
/** It turned out to be no stream: there is nothing to report. */
export const FORGET = 8;

/**
 * Of a stream over a socket, after `OPEN`: the value has the `number` of the socket, whether its messages are packets of
 * Engine.IO (`engineIo`), the bytes of the `question`, and their `length`.
 */
export const ASKED = 9;
