// The limits of report fields, from the table that `cargo xtask generate` makes of `beacon`.

import { readFileSync } from "node:fs";

const DOCS = readFileSync(new URL("../../docs/report-fields.md", import.meta.url), "utf8");

/** Each field with a range: its path, its ends, and whether the collector lowers larger numbers. */
export const RANGES = DOCS.split("\n").flatMap((line) => {
  const [, fields, from, to, lowered] = /^\| (`.*`) \| (\d+) to (\d+)(, others are lowered)? \|$/.exec(line) ?? [];
  return [...(fields ?? "").matchAll(/[\w.]+/g)].map(([path]) => ({ path, from: +from, to: +to, lowered }));
});

/** The moments of a report, each with those that must not be later. */
const ORDER = {
  first_event_ms: ["first_byte_ms"],
  ttft_ms: ["first_event_ms"],
  ttfv_ms: ["ttft_ms"],
  ttfp_ms: ["ttfv_ms"],
  e2e_ms: ["ttft_ms", "ttfv_ms"],
  close_ms: ["e2e_ms"],
};

/** Texts that have a shape, and may be absent. */
const SHAPES = {
  trace_id: /^([\da-f]{32})?$/,
  visit: /^[\da-f]{0,16}$/i,
  arrivals: /^([\da-z]{2,45})?$/,
};
/** One to four words of at most 32 bytes in all. */
const MARK = /^(?=.{1,32}$)[._:/@+~#=-]*([a-z\d]+[._:/@+~#=-]*){1,4}$/i;

/** Why the collector would refuse the report. */
export function problemsOf(report) {
  const problems = [];
  for (const { path, from, to, lowered } of RANGES) {
    const value = path.split(".").reduce((object, name) => object?.[name], report) ?? undefined;
    if (value < from || (value > to && !lowered)) problems.push(`${path} is ${value}`);
    const isWhole = value == undefined || path.endsWith("_ms") || Number.isInteger(value);
    if (!isWhole) problems.push(`${path} is not a whole number: ${value}`);
  }
  for (const [path, shape] of Object.entries(SHAPES))
    if (!shape.test(report[path] ?? "")) problems.push(`${path} is ${report[path]}`);
  for (const [later, earlier] of Object.entries(ORDER))
    for (const moment of earlier)
      if (report[later] + 1 < report[moment]) problems.push(`${later} is earlier than ${moment}`);
  const { marks = [] } = report;
  if (marks.length > 8) problems.push(`${marks.length} marks`);
  for (const { name, at_ms } of marks) {
    if (!(at_ms >= 0 && at_ms <= 864e5)) problems.push(`a mark is at ${at_ms}`);
    if (!MARK.test(name)) problems.push(`a mark is called ${name}`);
  }
  const { counts = [], zero = 0, sum } = report.gaps ?? {};
  if (counts.reduce((all, count) => all + count, zero) > report.chunks) problems.push("more gaps than chunks");
  if (sum > 864e5) problems.push("the gaps are too long");
  return problems;
}
