// Finds the change of the page that brought the first text of a stream. Only lengths are kept.

/** All changes of text below the target. */
export const TEXT_CHANGES = { subtree: true, childList: true, characterData: true, characterDataOldValue: true };

/** The output has this share of all that grows. */
const SHARE = 0.8;
/** An output that began to grow late has to go on: a status line and the label of a button do not. */
const LATE_FRAMES = 3;
/** More than an app writes while a response begins. */
const MAX_RECORDS = 300;
const MAX_DEPTH = 40;

/** Adds to `records` each of the `changes` that made text grow or shrink, with the members of `about`. */
export function record(records, changes, about) {
  for (const { type, target, oldValue, addedNodes, removedNodes } of changes) {
    const isText = type == "characterData";
    const path = pathOf(isText ? target.parentNode : target);
    const came = lengthOf(addedNodes);
    const chars = isText ? target.length - oldValue.length : came - lengthOf(removedNodes);
    if ((chars || came) && path[0] && records.length < MAX_RECORDS)
      records.push({ ...about, chars, path, added: [...addedNodes], removed: removedNodes, time: performance.now() });
  }
}

function lengthOf(nodes) {
  let length = 0;
  for (const { textContent } of nodes) length += textContent?.length ?? 0;
  return length;
}

/** The element and those around it, as they are now: later it may be elsewhere. */
function pathOf(node) {
  const path = [];
  for (; node && path.length < MAX_DEPTH; node = node.parentNode) path.push(node);
  return path;
}

/**
 * Whether the user may see a change whose frame has been presented. `known` keeps the answer for each element: when
 * text that came unseen is shown later, nothing tells the page.
 */
export function isSeen({ path, added }, known) {
  if (path.some((node) => known.get(node) == false)) return false;
  if (known.has(path[0])) return true;
  const unseen = (added.length ? added : path.slice(0, 1)).map((node) => unseenIn([node, ...path]));
  for (const node of unseen) if (node) known.set(node, false);
  return !unseen.every(Boolean) && !!known.set(path[0], true);
}

/** The first node that is in the page decides. A node that is gone by now, replaced by the next, was seen. */
function unseenIn(path) {
  for (const node of path) {
    if (!node.isConnected || !node.checkVisibility) continue;
    if (node.checkVisibility()) return;
    // `display: contents` has no box of its own, and shows its content.
    if (getComputedStyle(node).display != "contents") return node;
  }
}

/**
 * The first growth in the smallest element that has nearly all of it. An element that shrinks as it grows, such as a
 * clock, has none. `undefined` when nothing grew.
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
 * The first growth in one of the `outputs`, and which output it is. Outputs that map to true had text when the app
 * named them: the text came with them. Of a stream that is `mixed` with another, no more than one output may have
 * grown.
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
