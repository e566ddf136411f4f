// The content types of streams. The tap, the request inspector, the session and the extension for XMLHttpRequest
// share this one list.

/** Subtypes of bodies with one JSON value per line, as a part of a pattern. */
const JSON_LINES = "ndjson|jsonl|stream\\+json|json-seq";

/** Matches the content type of a stream, and an `accept` header that has one. */
export const STREAMS = RegExp(`event-stream|${JSON_LINES}`, "i");

// What a content type names, by the numbers that `src/session.rs` reads. The Rust side has the same distinction for
// hosts in `probe-core/src/framing/content_type.rs`; in JavaScript it takes a page a third of the code.

/** Server-sent events, or no type at all. */
export const EVENTS = 0;
/** JSON, a value per line. */
export const LINES = 1;
/** Any other type. */
export const OTHER = 2;

export function contentKindOf(type) {
  // Compiled when the headers of a stream come: as a constant it would be in every page's stub.
  const known = RegExp(`^(text/event-stream|application/((x-)?${JSON_LINES}))\\s*(;|$)`, "i").exec(type);
  return known?.[2] ? LINES : type && !known ? OTHER : EVENTS;
}
