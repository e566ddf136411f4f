// Where text grows: changes of the page come in, the frame in which it first grew there goes out. Only
// lengths are kept.

/** The output has this share of all that grows. */
const SHARE = 0.8;
/** More than an app writes while an answer begins. */
const MAX_RECORDS = 300;
const MAX_DEPTH = 40;

/** Adds to `records` what `changes` have made grow or shrink, where `isOutput` takes the element. */
export function record(records, changes, frame, isOutput) {
  for (const { type, target, oldValue, addedNodes, removedNodes } of changes) {
    const isText = type == "characterData";
    const element = isText ? target.parentElement : target;
    const chars = isText ? target.length - oldValue.length : lengthOf(addedNodes) - lengthOf(removedNodes);
    if (chars && element && records.length < MAX_RECORDS && isOutput(element))
      records.push({ frame, chars, path: pathOf(element), time: performance.now() });
  }
}

function lengthOf(nodes) {
  let length = 0;
  for (const { textContent } of nodes) length += textContent?.length ?? 0;
  return length;
}

/** The element and those around it: later it may be elsewhere. */
function pathOf(element) {
  const path = [];
  for (; element && path.length < MAX_DEPTH; element = element.parentElement) path.push(element);
  return path;
}

/**
 * The frame of the first growth in the smallest element that has nearly all of it. What shrinks as it
 * grows, such as a clock, has none. `undefined` when nothing grew.
 */
export function frameOfGrowth(records) {
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
  return growing.find(({ path, chars }) => chars > 0 && path.includes(place))?.frame;
}
