// Whether a request asks for a stream, which model it names, and how it was made. Nothing else of it is kept.

import { STREAMS } from "./content-types.js";
import { ASKS } from "./request-patterns.js";

/** More than that a stream was asked for: the app says so, and whatever the answer is, it is watched. */
const CHOSEN = 2;

// As the others of its kind, it matches a key of the request, never its text.
const MODEL = /"model"\s*:\s*"([^"\\]{1,128})"/;
// Both are looked for at the head and at the tail, however long the prompt between them is.
const EDGE_CHARS = 4096;

/** The tap's `examine`, with the app's own test where it has one. */
export function requestExaminer(isStream) {
  return (stream, input, init) => {
    const { body, headers = input?.headers } = init ?? {};
    stream.signal = init?.signal ?? input?.signal;
    stream.method ??= init?.method ?? input?.method;
    const text = `${body?.slice?.(0, EDGE_CHARS)}\n${body?.slice?.(-EDGE_CHARS)}`;
    stream.model = MODEL.exec(text)?.[1];
    if (isStream?.(input, init)) return CHOSEN;
    // Headers that nobody can send have made the call fail by now.
    try {
      return ASKS.test(text) || STREAMS.test(new Headers(headers).get("accept"));
    } catch {}
  };
}
