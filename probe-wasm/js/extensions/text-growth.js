// Where text grows: changes of the page come in, the one that brought the first text of an answer goes out. Only
// lengths are kept.

/** The output has this share of all that grows. */
const SHARE = 0.8;
/** What began to grow late has to go on: a status line and the label of a button do not. */
const LATE_FRAMES = 3;
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
 * Whether somebody may see a change whose frame has been presented. What is `known` of an element stays: it is asked
 * for once, and when text that came unseen is shown, nobody knows.
 */
export function isSeen({ path, added }, known) {
  if (path.some((node) => known.get(node) == false)) return false;
  if (known.has(path[0])) return true;
  const unseen = (added.length ? added : path.slice(0, 1)).map((node) => unseenIn([node, ...path]));
  for (const node of unseen) if (node) known.set(node, false);
  return !unseen.every(Boolean) && !!known.set(path[0], true);
}

/** The first that is in the page has the say: what is gone by now, replaced by what came next, was seen. */
function unseenIn(path) {
  for (const node of path) {
    if (!node.isConnected || !node.checkVisibility) continue;
    if (node.checkVisibility()) return;
    // It has no box of its own, and shows what is in it.
    if (getComputedStyle(node).display != "contents") return node;
  }
}

/**
 * The first growth in the smallest element that has nearly all of it. What shrinks as it grows, such as a clock,
 * has none. `undefined` when nothing grew.
 */
export function firstGrowth(records) {
  const own = new Map();
  const all = new Map();
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
  const grown = growing.filter(({ path, chars }) => chars > 0 && path.includes(place));
  if (!grown[0]?.late || new Set(grown.map(({ frame }) => frame)).size >= LATE_FRAMES) return grown[0];
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
