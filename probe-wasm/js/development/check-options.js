// Finds mistakes in the options of the probe, as sentences for the developer.

import { mistakesInFormats } from "./check-formats.js";

/** The types that each option accepts. An attribute of the tag is always a text. */
const TYPES = {
  collector: ["string"],
  site: ["string"],
  useCase: ["string"],
  provider: ["string"],
  release: ["string"],
  variant: ["string"],
  attributes: ["object", "string"],
  routes: ["object", "string"],
  wasmUrl: ["string", "boolean", "object"],
  wasmAllUrl: ["string", "boolean", "object"],
  wasmIntegrity: ["string"],
  sampleRate: ["number", "string"],
  consent: ["string"],
  respectSignals: ["boolean", "string"],
  beforeSend: ["function"],
  patchFetch: ["boolean"],
  isStream: ["function"],
  formats: ["object", "string"],
  isBackground: ["function"],
  background: ["boolean"],
  debug: ["boolean", "string"],
};

/** What a call of `set` or `wrapFetch` may name. */
const OF_STREAMS = ["useCase", "provider", "variant", "attributes", "background"];

const USE_CASES = ["chat", "coding", "batch_rag", "extraction"];
const CONSENTS = ["granted", "denied", "pending"];

/** Frameworks add these to tags. */
const FOREIGN = ["nscript"];

const MAX_ATTRIBUTES = 5;
const ATTRIBUTE_KEY = /^[a-z][a-z\d_]{0,31}$/;
/** As the collector accepts it (`is_attribute_value` in `beacon`). */
const ATTRIBUTE_VALUE = /^(?!(.*\d){9})[\w.-]{1,32}$/;

/** As the collector accepts names (`is_printable` in `beacon`). */
const VISIBLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} \u200c\u200d]*$/u;
const UNSEEN =
  /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0e\uffa0\u{e0100}-\u{e01ef}]/u;
const HAS_VISIBLE = /[\p{L}\p{N}\p{P}\p{S}]/u;
/** A letter of a script that needs joiners, or an emoji. */
const JOINABLE = /^(?![\0-\u058f])[\p{L}\p{M}\p{S}]$/u;
/** U+FE0F turns it into an emoji. */
const TURNS_INTO_EMOJI = /^(?![\0-\x7f])[^\p{M}]$/u;
const MAX_NAME_BYTES = 128;

/** Mistakes in the options of `start()`, or in the attributes of the tag. */
export function mistakesInOptions(options, { isTag = false } = {}) {
  const shown = (name) => (isTag ? `data-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}` : `\`${name}\``);
  const missing = ["site", "collector"].filter((name) => !options?.[name]);
  return [
    ...missing.map((name) => `${shown(name)} is missing, so nothing is measured`),
    ...mistakesIn(options ?? {}, Object.keys(TYPES), shown),
  ];
}

/** Mistakes in the options of `set()` or `wrapFetch()`. */
export function mistakesInStreamOptions(options) {
  return mistakesIn(options ?? {}, OF_STREAMS, (name) => `\`${name}\``);
}

/** Whether an attribute of the tag is an option, or nearly has the name of one. */
export function namesAnOption(dataset) {
  const known = Object.keys(TYPES);
  return Object.keys(dataset).some((name) => suggestion(name, known, (near) => near));
}

function mistakesIn(options, known, shown) {
  return Object.entries(options).flatMap(([name, value]) => {
    if (FOREIGN.includes(name) || value === undefined) return [];
    if (!known.includes(name)) return [`${shown(name)} is unknown${suggestion(name, known, shown)}`];
    if (!TYPES[name].includes(typeof value))
      return [`${shown(name)} is of the type ${typeof value}, but must be ${TYPES[name].join(" or ")}`];
    return mistakesInValue(name, value, shown(name));
  });
}

function mistakesInValue(name, value, shown) {
  const quoted = (word) => `"${word}"`;
  switch (name) {
    case "provider":
    case "variant":
    case "release":
      return mistakesInName(value, shown);
    case "useCase": {
      const unfit = mistakesInName(value, shown);
      if (unfit.length) return unfit;
      const meant = suggestion(value, USE_CASES, quoted);
      return meant && !USE_CASES.includes(value) ? [`${shown} is "${value}", which has no default targets${meant}`] : [];
    }
    case "consent":
      return CONSENTS.includes(value) ? [] : [`${shown} is "${value}", which counts as "pending": nothing is sent`];
    case "sampleRate":
      return value > 0 && value <= 1 ? [] : [`${shown} is ${value}, but must be above 0 and at most 1`];
    case "formats":
      return mistakesInFormats(value, shown);
    case "attributes":
      return mistakesInAttributes(value, shown);
    default:
      return [];
  }
}

/** The collector drops such a name. */
function mistakesInName(value, shown) {
  if (value.startsWith(" ") || value.endsWith(" ")) return [`${shown} is dropped: it begins or ends with a blank`];
  if (!VISIBLE.test(value) || UNSEEN.test(value) || !showsAll(value))
    return [`${shown} is dropped: it has a character that is not visible, such as a zero-width or no-break space`];
  const bytes = new TextEncoder().encode(value).length;
  return bytes > MAX_NAME_BYTES ? [`${shown} is dropped: it is longer than ${MAX_NAME_BYTES} bytes`] : [];
}

/** Whether something is visible, and no character joins nothing: such a name looks like another. */
function showsAll(value) {
  const characters = [...value];
  const joins = (c, at) => {
    const [before = "", after = ""] = [characters[at - 1], characters[at + 1]];
    if (c == "\u200c" || c == "\u200d") return JOINABLE.test(before) && JOINABLE.test(after);
    return c != "\ufe0f" || after == "\u20e3" || TURNS_INTO_EMOJI.test(before);
  };
  return !value || (HAS_VISIBLE.test(value) && characters.every(joins));
}

function mistakesInAttributes(value, shown) {
  const pairs = typeof value == "string" ? value.split(/\s+/).map((pair) => pair.split("=")) : Object.entries(value ?? {});
  const wrong = pairs.flatMap(([key, value = ""]) => {
    if (!ATTRIBUTE_KEY.test(key)) return [`${shown} has the key "${key}", but keys are small letters, digits and "_"`];
    if (ATTRIBUTE_VALUE.test(`${value}`)) return [];
    return [`${shown} has a value for "${key}" that is no short identifier: at most 32 letters, digits and "._-", and at most 8 digits`];
  });
  return pairs.length > MAX_ATTRIBUTES ? [...wrong, `${shown} has more than ${MAX_ATTRIBUTES} keys`] : wrong;
}

/** What a wrong word may have been meant to be; empty if nothing is near. */
function suggestion(word, known, shown) {
  const near = known
    .map((name) => ({ name, edits: editsBetween(word.toLowerCase(), name.toLowerCase()) }))
    .sort((one, other) => one.edits - other.edits)[0];
  return near.edits <= Math.max(1, word.length / 3) ? `: did you mean ${shown(near.name)}?` : "";
}

/** Number of letters to insert, remove or replace. */
function editsBetween(one, other) {
  let row = [...Array(other.length + 1).keys()];
  for (const [at, letter] of [...one].entries()) {
    const next = [at + 1];
    for (const [to, letterThere] of [...other].entries())
      next.push(Math.min(row[to] + (letter == letterThere ? 0 : 1), row[to + 1] + 1, next[to] + 1));
    row = next;
  }
  return row.at(-1);
}
