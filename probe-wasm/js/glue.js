// The compiled probe, as wasm-bindgen wraps it. The build makes the module behind this name.

import { calls, imports, setWasm } from "llm-rum-glue";

export function createWatcher(module, wake) {
  const { exports } = new WebAssembly.Instance(module, { g: imports });
  setWasm(exports);
  calls.begin(performance, wake);
  return { ...exports, ...calls, report: (key) => objectOf(calls.report(key)) };
}

/** A report, of the list that `src/report.rs` makes of it. */
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
      if (value || value === 0) object[field] = value;
    }
  return report;
}
