// Says which events have generated text, and which ones end a stream: the rules of `instrumentation/contract.json`,
// whose lists a test compares with these.

/** Clients stop reading at such an event. */
export const END_TYPES = new Set([
  "RUN_ERROR", "RUN_FINISHED", "conversation.response.done", "end", "finish", "interaction.completed", "message-end",
  "message_stop", "response.completed", "response.failed", "response.incomplete",
]);

export const NO_TEXT_TYPES = new Set([
  "ACTIVITY_DELTA", "ACTIVITY_SNAPSHOT", "MESSAGES_SNAPSHOT", "REASONING_END", "REASONING_MESSAGE_END",
  "REASONING_MESSAGE_START", "REASONING_START", "RUN_STARTED", "STATE_DELTA", "STATE_SNAPSHOT", "STEP_FINISHED",
  "STEP_STARTED", "TEXT_MESSAGE_END", "TEXT_MESSAGE_START", "THINKING_END", "THINKING_START",
  "THINKING_TEXT_MESSAGE_END", "THINKING_TEXT_MESSAGE_START", "TOOL_CALL_END", "TOOL_CALL_RESULT", "TOOL_CALL_START",
  "abort", "checkpoints", "citation-end", "citation-start", "content-end", "content-start", "content_block_start",
  "content_block_stop", "debug", "error", "file", "finish-step", "human", "message-metadata", "message-start",
  "message_delta", "message_start", "messages/complete", "messages/metadata", "metadata", "ping", "reasoning-end",
  "reasoning-start", "response.audio.delta", "response.output_audio.delta", "source-document", "source-url", "speed",
  "start", "start-step", "stop", "system", "tasks", "text-end", "text-start", "tool", "tool-call-end",
  "tool-call-start", "tool-input-available", "tool-input-start", "tool-output-available", "usage", "values",
]);

/** Of types that begin so, only the deltas have text. */
export const DELTA_PREFIXES = ["conversation.", "interaction.", "response.", "step.", "tool.execution."];

/** The fields of an item that hold its text. */
export const TEXT_PARTS = ["arguments", "content", "delta", "function", "text", "tool_call_chunks"];

const CHOICE_PARTS = ["delta", "text"];
const CANDIDATE_PARTS = ["content"];

/** Fields within text parts whose strings are no text. */
export const SILENT_FIELDS = new Set([
  "annotations", "citation", "citations", "id", "index", "name", "role", "signature", "thoughtSignature", "type",
]);

/** The type of a long event, whose data is not parsed. */
const FIRST_FIELD_IS_TYPE = /^\s*\{\s*"type"\s*:\s*"([^"\\]*)"/;

/**
 * @param {import("./event-splitter.js").Event} event
 * @returns {"text" | "end" | "other"}
 */
export function kindOf({ name, data, hasData, isLong }) {
  const item = isLong ? undefined : itemIn(data);
  const type = isLong ? FIRST_FIELD_IS_TYPE.exec(data)?.[1] : item?.type;
  const types = [name.includes("|") ? name.split("|", 1)[0] : name, typeof type === "string" ? type : ""];
  if (data === "[DONE]" || types.some((it) => END_TYPES.has(it))) return "end";
  if (!hasData || data === '""' || types.some(isWithoutText)) return "other";
  return item && hasOnlySilentParts(item) ? "other" : "text";
}

/** @param {string} type */
function isWithoutText(type) {
  const isDelta = type.endsWith(".delta");
  return NO_TEXT_TYPES.has(type) || (!isDelta && DELTA_PREFIXES.some((prefix) => type.startsWith(prefix)));
}

/**
 * Whether an item has text parts, and none of them has text. Loops: each event of each stream comes here.
 * @param {Record<string, any>} item
 */
function hasOnlySilentParts(item) {
  let parts = 0;
  const choices = [item.choices, CHOICE_PARTS];
  const candidates = [item.candidates, CANDIDATE_PARTS];
  for (const [list, fields] of [[[item], TEXT_PARTS], choices, candidates]) {
    if (!Array.isArray(list)) continue;
    // The list itself is a part without text.
    if (fields !== TEXT_PARTS) parts++;
    for (const element of list) {
      for (const field of isObject(element) ? fields : []) {
        if (!(field in element)) continue;
        if (hasText(element[field])) return false;
        parts++;
      }
    }
  }
  return parts > 0;
}

/** Whether there is a string that is not empty, at any depth. @param {unknown} value @returns {boolean} */
function hasText(value) {
  if (typeof value === "string") return value !== "";
  if (Array.isArray(value)) return value.some(hasText);
  return isObject(value) && Object.keys(value).some((field) => !SILENT_FIELDS.has(field) && hasText(value[field]));
}

/** The object that a JSON text is, or that its array begins with. @param {string} text */
function itemIn(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text);
    const item = Array.isArray(value) ? value[0] : value;
    return isObject(item) ? item : undefined;
  } catch {
    return undefined;
  }
}

/** @param {any} value @returns {value is Record<string, any>} */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
