// What the text of a request shows. The tap needs it before the probe has loaded, the request inspector after that.

/**
 * The body asks for a stream. In JSON a quote inside a string is escaped, so this matches a key of the request and
 * never its text. `true` is the only value that begins with `t`.
 */
export const ASKS = /"stream"\s*:\s*t/;
