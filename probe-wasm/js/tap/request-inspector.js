// Finds out whether a request asks for a stream, which model it names, and how it was made. Nothing else of it is kept.

import { STREAMS } from "./content-types.js";
import { ASKS } from "./request-patterns.js";

// The search for `ASKS` covers the head and the tail of the body, however long the prompt between them is.
const EDGE_CHARS = 4096;

/** Clients of MCP accept a stream as well as JSON for each of their calls, few of which are of a model. */
const ACCEPTS_JSON = /\/json\b(?!-)/;

/** The shape of a name (`NameShape` in `beacon`). */
const NAME = /^(?=.{1,128}$)([._:/@+~#=-]*[a-zA-Z\d]+(?![a-zA-Z\d])){1,20}$/;

/** Calls by MCP, whose clients do not all send its header. A2A asks an agent by JSON-RPC as well, with other methods. */
const TOOLS = /^(initialize$|(tool|resource|prompt)s\/)/;

/** Makes the tap's `inspect`, with the app's own test if there is one. */
export function createRequestInspector(isStream) {
  return (stream, input, init) => {
    const { body, headers = input?.headers } = init ?? {};
    stream.signal = init?.signal ?? input?.signal;
    stream.method ??= init?.method ?? input?.method;
    let isTool;
    try {
      // The native parser reads the whole body, and still takes a fourteenth of the time of a walk in JavaScript if a
      // long chat comes before a key. A prompt, a tool's input or an app's context may hold the same keys.
      const { model, jsonrpc, method } = body?.startsWith?.("{") ? JSON.parse(body) : {};
      if (typeof model == "string" && NAME.test(model)) stream.model = model;
      isTool = jsonrpc && TOOLS.test(method);
    } catch {}
    const text = `${body?.slice?.(0, EDGE_CHARS)}\n${body?.slice?.(-EDGE_CHARS)}`;
    if (isStream?.(input, init) || (!isTool && ASKS.test(text))) return true;
    // With headers that cannot be sent, the call has failed by now.
    try {
      const sent = new Headers(headers);
      const accepted = sent.get("accept");
      // An MCP client asks for tools and notifications in the way that others ask for a stream, but no answer comes.
      if (isTool || sent.has("mcp-protocol-version")) stream.own_ = { ...stream.own_, background: true };
      else return STREAMS.test(accepted) && !ACCEPTS_JSON.test(accepted);
    } catch {}
  };
}
