/** Attributes: the dimensions that the app names. */
import type { Attribute } from "./dimensions";

const PREFIX = "attribute.";
/** A key as the collector takes it. */
const SHAPE = /^attribute\.[a-z][a-z0-9_]{0,31}$/;

export const isAttribute = (name: string): name is Attribute => SHAPE.test(name);

export const attributeOf = (key: string): Attribute => `${PREFIX}${key}`;

export const keyOf = (attribute: Attribute): string => attribute.slice(PREFIX.length);

/** The attributes of the keys, and those that the view names: a link can name one that no site in view has. */
export function offeredAttributes(keys: readonly string[], named: readonly string[]): Attribute[] {
  return [...new Set([...keys.map(attributeOf), ...named.filter(isAttribute)])].sort();
}
