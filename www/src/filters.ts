/** The values of one dimension in a filter, and how the screen says them. */
import type { Dimension, Filters } from "./api/api-types";
import { isAttribute } from "./api/attributes";
import { DIMENSIONS, WINDOW_DIMENSIONS } from "./api/dimensions";
import { dimensionLabel, valueLabel } from "./format";

/** Whether windows are kept by the dimension. */
export const isOfWindows = (name: Dimension): boolean => (WINDOW_DIMENSIONS as readonly string[]).includes(name);

/** The dimensions with a filter, attributes last. */
export const filteredDimensions = (filters: Filters): Dimension[] =>
  [...DIMENSIONS, ...Object.keys(filters).filter(isAttribute).sort()].filter((name) => filters[name]);

/** Whether a stream must have one of the values, or none of them. */
export type Relation = "is" | "is not";

export const relationOf = (values: readonly string[]): Relation => (values[0]?.startsWith("!") ? "is not" : "is");

/** The values without the sign that excludes them. */
export const namedValues = (values: readonly string[]): string[] => values.map((value) => value.replace(/^!/, ""));

export const filterValues = (relation: Relation, names: readonly string[]): string[] =>
  relation === "is" ? [...names] : names.map((name) => `!${name}`);

/** The filter with this value added, or removed if it is there. */
export function toggled(values: readonly string[], relation: Relation, name: string): string[] {
  const names = namedValues(values);
  const next = names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
  return filterValues(relation, next);
}

/** `Model` and `a or b`, or `not a, not b`. */
export function filterText(dimension: Dimension, values: readonly string[]): { subject: string; text: string } {
  const labels = namedValues(values).map((value) => valueLabel(dimension, value));
  const text = relationOf(values) === "is" ? labels.join(" or ") : labels.map((label) => `not ${label}`).join(", ");
  return { subject: dimensionLabel(dimension), text };
}
