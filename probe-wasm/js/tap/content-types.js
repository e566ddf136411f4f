// The content types of streams. The tap, the request inspector, the session and the extension for XMLHttpRequest
// share this one list.

/** Matches the content type of a stream, and an `accept` header that has one. */
export const STREAMS = /event-stream|ndjson|jsonl|stream\+json|json-seq/i;

// What a content type names, by the numbers that `src/session.rs` reads. The Rust side has the same distinction for
// hosts in `probe-core/src/framing/content_type.rs`; in JavaScript it takes a page a third of the code.

/** Server-sent events, or no type at all. */
export const EVENTS = 0;
/** JSON, a value per line. */
export const LINES = 1;
/** Any other type. */
export const OTHER = 2;

export function contentKindOf(type) {
  const is = (types) => RegExp(`^(${types})\\s*(;|$)`, "i").test(type);
  if (!type || is("text/event-stream")) return EVENTS;
  // The event stream is a subtype of `text`, all others are of `application`.
  return is(`application/(x-)?(?!event)(${STREAMS.source})`) ? LINES : OTHER;
}
