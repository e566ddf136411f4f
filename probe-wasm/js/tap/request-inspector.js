// Finds out whether a request asks for a stream, which model it names, and how it was made. Nothing else of it is kept.

import { STREAMS } from "./content-types.js";
import { ASKS } from "./request-patterns.js";

// The search for `ASKS` covers the head and the tail of the body, however long the prompt between them is.
const EDGE_CHARS = 4096;

/** Clients of MCP accept a stream as well as JSON for each of their calls, few of which are of a model. */
const ACCEPTS_JSON = /\/json\b(?!-)/;

/** The next token of JSON outside of a string. */
const TOKEN = /\s*([,:"{}[\]]|-?\d[\d.eE+-]*|true|false|null)/y;
/** The next escape or the end inside of a string. */
const IN_STRING = /(\\.|")/gs;
/** The rest of the key `model` and its value, which must have the shape of a name (`NameShape` in `beacon`). */
const MODEL = /model"\s*:\s*"(?=.{1,128}")((?:[._:/@+~#=-]*[a-zA-Z\d]+(?![a-zA-Z\d])){1,20})"/y;
/** Bounds the time for a body of many small values. */
const MAX_TOKENS = 50_000;

/** Makes the tap's `inspect`, with the app's own test if there is one. */
export function createRequestInspector(isStream) {
  return (stream, input, init) => {
    const { body, headers = input?.headers } = init ?? {};
    stream.signal = init?.signal ?? input?.signal;
    stream.method ??= init?.method ?? input?.method;
    stream.model = modelOf(body);
    const text = `${body?.slice?.(0, EDGE_CHARS)}\n${body?.slice?.(-EDGE_CHARS)}`;
    if (isStream?.(input, init) || ASKS.test(text)) return true;
    // With headers that cannot be sent, the call has failed by now.
    try {
      const accepted = new Headers(headers).get("accept");
      return STREAMS.test(accepted) && !ACCEPTS_JSON.test(accepted);
    } catch {}
  };
}

/**
 * The value of the top-level key `model` of a JSON body. A prompt, a tool's input or an app's context may hold the
 * same key: only a walk from the first character tells the top level. It ends without a model at text that is not JSON.
 * Strings are skipped, not built.
 */
function modelOf(body) {
  if (!body?.startsWith?.("{")) return;
  let depth = 0;
  let inString = false;
  let at = 0;
  for (let count = 0; count < MAX_TOKENS; count++) {
    const pattern = inString ? IN_STRING : TOKEN;
    pattern.lastIndex = at;
    const token = pattern.exec(body)?.[1];
    at = pattern.lastIndex;
    if (token == '"') {
      inString = !inString;
      MODEL.lastIndex = at;
      const model = inString && depth == 1 && MODEL.exec(body);
      if (model) return model[1];
    } else if (!inString) {
      if ("{[".includes(token)) depth++;
      if ("}]".includes(token)) depth--;
    }
    // The object has ended, or this is not JSON.
    if (!depth || !token) return;
  }
}
