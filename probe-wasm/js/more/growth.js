// Where text grows: changes of the page come in, the one that brought the first text of an answer goes out. Only
// lengths are kept.

/** The output has this share of all that grows. */
const SHARE = 0.8;
/** More than an app writes while an answer begins. */
const MAX_RECORDS = 300;
const MAX_DEPTH = 40;

/** Adds to `records` what `changes` have made grow or shrink, each with what there is to say `about` them. */
export function record(records, changes, about) {
  for (const { type, target, oldValue, addedNodes, removedNodes } of changes) {
    const isText = type == "characterData";
    const path = pathOf(isText ? target.parentNode : target);
    const came = lengthOf(addedNodes);
    const chars = isText ? target.length - oldValue.length : came - lengthOf(removedNodes);
    if ((chars || came) && path[0] && records.length < MAX_RECORDS)
      records.push({ ...about, chars, path, added: [...addedNodes], time: performance.now() });
  }
}

function lengthOf(nodes) {
  let length = 0;
  for (const { textContent } of nodes) length += textContent?.length ?? 0;
  return length;
}

/** The element and those around it: later it may be elsewhere. */
function pathOf(node) {
  const path = [];
  for (; node && path.length < MAX_DEPTH; node = node.parentNode) path.push(node);
  return path;
}

/**
 * The first growth in the smallest element that has nearly all of it. What shrinks as it grows, such as a clock,
 * has none. `undefined` when nothing grew.
 */
export function firstGrowth(records) {
  const [own, all] = [new Map(), new Map()];
  const add = (sums, element, chars) => sums.set(element, (sums.get(element) ?? 0) + chars);
  for (const { path, chars } of records) add(own, path[0], chars);
  const growing = records.filter(({ path }) => own.get(path[0]) > 0);
  let total = 0;
  for (const { path, chars } of growing) {
    total += chars;
    for (const element of path) add(all, element, chars);
  }
  let place;
  for (const { path } of growing) {
    const found = path.find((element) => all.get(element) >= SHARE * total);
    if (!place || place.contains(found)) place = found;
  }
  return growing.find(({ path, chars }) => chars > 0 && path.includes(place));
}

/**
 * The first growth in one of the `outputs`, and which. Those that are mapped to true had text when they were named:
 * it came with them. Of an answer that is `mixed` with another no more than one may have grown.
 */
export function firstGrowthIn(outputs, records, mixed) {
  const grown = [];
  for (const record of records) {
    const { path, chars, added } = record;
    const output =
      (chars > 0 && path.find((node) => outputs.has(node))) ||
      [...outputs.keys()].find((node) => outputs.get(node) && added.some((other) => other.contains(node)));
    if (output) grown.push({ ...record, output });
  }
  if (!mixed || new Set(grown.map(({ output }) => output)).size < 2) return grown[0];
}
