// What a content type names, by the numbers that `src/session.rs` reads: server-sent events, or nothing at
// all; JSON in lines; something else. The same as `probe-core/src/framing/content_type.rs`, in less of what pages load.

export const EVENTS = 0;
export const LINES = 1;
export const OTHER = 2;

const KNOWN = /^(text\/event-stream|application\/((x-)?ndjson|jsonl|stream\+json|json-seq))\s*(;|$)/i;

export function kindOf(type) {
  const known = KNOWN.exec(type);
  return known?.[2] ? LINES : type && !known ? OTHER : EVENTS;
}
