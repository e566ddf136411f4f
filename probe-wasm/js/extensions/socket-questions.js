// Finds out what a text means that an app sends over a socket: a question to a model, a stop, or neither.

/** Packets of Engine.IO that carry a message of the app: an event of socket.io, or JSON of its own. */
const PACKET = /^4(2|5\d*-)?[^[{"]*(?=[[{"])/;
/** Keys of what a user writes. */
const WRITTEN = /^(text|content|message|prompt|input|query|question|output)$/i;
/** Keys of what an app sends beside that. */
const BESIDE = /^(instructions|system\w*|tools|session|settings|config|auth|token|metadata)$/i;
const STOPS = /(^|[^a-z])(stop|cancel|abort|interrupt)/i;
/** The longest text that stops an answer. */
const STOP_CHARS = 300;
const MAX_DEPTH = 6;

/** The words of a user are under a key that says so. */
export const QUESTION = 1;
/** Some string has words. */
export const MAYBE = 2;
export const STOP = 3;

/** The meaning of a sent text: one of those above, or nothing. */
export function meaningOf(text, engineIo) {
  const json = engineIo ? PACKET.test(text) && text.replace(PACKET, "") : text;
  if (!json) return;
  let found;
  try {
    found = wordsOf(JSON.parse(json), "", MAX_DEPTH);
  } catch {
    // A text that is no JSON is the user's own.
    found = /\p{L}/u.test(json) && !/^(ping|pong|heartbeat)$/i.test(json) && !isStop(json) && QUESTION;
  }
  return found || (isStop(json) && STOP);
}

function isStop(text) {
  return text.length < STOP_CHARS && STOPS.test(text);
}

function wordsOf(value, key, depth) {
  if (typeof value == "string") {
    // The Realtime API asks by this alone.
    if (value == "response.create" || (WRITTEN.test(key) && /\p{L}/u.test(value))) return QUESTION;
    return /\p{L}\s+\p{L}/u.test(value) && MAYBE;
  }
  if (!depth || !value || typeof value != "object") return;
  let found;
  for (const inner of Object.keys(value)) {
    if (!BESIDE.test(inner)) found = found == QUESTION ? found : wordsOf(value[inner], inner, depth - 1) || found;
    if (found == QUESTION) return found;
  }
  return found;
}
