// Finds mistakes in the formats that an app describes, as sentences for the developer.

/** Keys whose values are rules. */
const RULES = ["text", "reasoning", "tool", "end", "error", "id", "inputTokens", "outputTokens"];
const OTHERS = { url: "string", cumulative: "boolean" };

/** As `probe-core/src/custom_format` reads them. */
const MAX_RULES = 32;
const MAX_STEPS = 16;
const STEP = /^[^\s."'\\=]+$/;

/** Mistakes in `formats`: a list of descriptions, one description, or JSON of either. */
export function mistakesInFormats(value, shown) {
  try {
    const formats = typeof value == "string" ? JSON.parse(value) : value;
    return [formats].flat().flatMap((format) => mistakesInFormat(format, shown));
  } catch {
    return [`${shown} is no JSON, and ignored`];
  }
}

function mistakesInFormat(format, shown) {
  if (typeof format != "object" || !format) return [`${shown} has an element that is no object`];
  const rules = RULES.flatMap((key) => [format[key] ?? []].flat().map((rule) => [key, rule]));
  return [
    ...Object.keys(format).flatMap((key) => mistakesInKey(key, format[key], shown)),
    ...rules.flatMap(([key, rule]) => mistakesInRule(key, rule, shown)),
    ...(rules.some(([key]) => key == "text") ? [] : [`${shown} has no \`text\`, so its streams have no TTFT`]),
    ...(rules.length > MAX_RULES ? [`${shown} has more than ${MAX_RULES} rules`] : []),
  ];
}

function mistakesInKey(key, value, shown) {
  if (RULES.includes(key)) return [];
  if (!(key in OTHERS)) return [`${shown} has the unknown key \`${key}\``];
  return typeof value == OTHERS[key] ? [] : [`${shown} has a \`${key}\` that is no ${OTHERS[key]}`];
}

function mistakesInRule(key, rule, shown) {
  const isUnderstood = typeof rule == "string" && rule.split(" if ").every(isCondition);
  return isUnderstood ? [] : [`${shown} has a rule for \`${key}\` that is not understood: ${JSON.stringify(rule)}`];
}

function isCondition(text) {
  const path = text.split("=")[0].trim();
  const steps = path.split(".");
  return ["@event", "@data"].includes(path) || (steps.length <= MAX_STEPS && steps.every((step) => STEP.test(step) && step[0] != "@"));
}
