// The compiled watcher, as wasm-bindgen wraps it. The build makes the module `llm-rum-glue`.

import { createGlue } from "llm-rum-glue";

/** @returns {import("./watcher.d.ts").Watcher} */
export function createWatcher(module, wake, later) {
  const watcher = createGlue(module, wake, later);
  watcher.begin(performance);
  return { ...watcher, report: (key) => objectOf(watcher.report(key)) };
}

/**
 * The largest numbers that the collector accepts, by the last word of a field's name (`field.rs` in `beacon`). With a
 * larger number it would refuse the whole report, and a server could hide its streams. It lowers amounts itself.
 */
const LIMITS = { ms: 864e5, tokens: 1e9 };

/** A report, from the list that `src/report.rs` makes of it. */
function objectOf(list) {
  const report = {};
  let object = report;
  while (list.length)
    for (const field of list.shift().match(/\S+/g)) {
      if (field.endsWith(":")) {
        object = report[field.slice(0, -1)] = {};
        continue;
      }
      const value = field == "counts" ? list.splice(0) : list.shift();
      if (value > LIMITS[field.match(/[a-z]+$/)]) report.left_out = -~report.left_out;
      else if (value || value === 0) object[field] = value;
    }
  return report;
}
