// Runs every check twice, each time in a fresh frame: once without an SDK and once with it. `run` returns one row per
// check. Opened with `?sdk=NAME`, the page shows the rows.

import known from "/known.js";

const GROUPS = ["response", "read", "pipe", "branch", "lock", "fail", "abort", "stop", "push", "request", "patch", "platform", "event-source", "xhr", "web-socket"];

/** This engine, by the name that `differs` in the checks uses. */
const ENGINE = /Firefox/.test(navigator.userAgent) ? "Firefox" : /Chrome/.test(navigator.userAgent) ? "Chromium" : "WebKit";

/** Interval of garbage collection where a page can trigger it. It shows outcomes that depend on its time. */
const GARBAGE_MS = 5;

/** Runs the checks whose name contains `only`, and calls `onRow` with each row. */
export async function run(sdk, only = "", onRow = () => {}) {
  const rows = [];
  const collecting = window.gc && setInterval(() => window.gc(), GARBAGE_MS);
  await startWorker();
  for (const group of GROUPS) {
    const { default: checks } = await import(`/checks/${group}.js`);
    for (const { name, expect, differs, scope } of checks.filter(({ name }) => name.includes(only))) {
      const [native, watched] = await Promise.all([runIn(scope, { group, name }), runIn(scope, { group, name, sdk })]);
      const expected = differs && ENGINE in differs ? differs[ENGINE] : expect;
      const row = { group, name, native, watched, expected, differs: expected !== expect };
      row.understood = JSON.stringify(native.seen) == JSON.stringify(expected);
      row.excused = !!known[sdk]?.[ENGINE]?.includes(name);
      row.offered = !watched.missing;
      row.same = row.offered && JSON.stringify(native) == JSON.stringify(watched);
      rows.push(row);
      onRow(row);
    }
  }
  clearInterval(collecting);
  return rows;
}

async function runIn(scope = "", parameters) {
  const frame = document.createElement("iframe");
  frame.src = `${scope}/frame.html?${new URLSearchParams(Object.entries(parameters).filter(([, value]) => value))}`;
  const loaded = new Promise((resolve) => frame.addEventListener("load", resolve));
  document.body.append(frame);
  await loaded;
  const outcome = JSON.parse(await frame.contentWindow.outcome);
  frame.remove();
  return outcome;
}

/** Starts the service worker that responds to frames under `/worker/`. */
async function startWorker() {
  const registration = await navigator.serviceWorker.register("/worker.js", { scope: "/worker/" });
  const worker = registration.active ?? registration.installing ?? registration.waiting;
  if (worker.state != "activated")
    await new Promise((resolve) =>
      worker.addEventListener("statechange", () => worker.state == "activated" && resolve()),
    );
}

const { sdk, only } = Object.fromEntries(new URLSearchParams(location.search));
if (sdk) {
  const state = document.querySelector("#state");
  const rows = await run(sdk, only, ({ group, name, native, watched, same, understood, offered }) => {
    const verdict = !understood ? `unexpected: ${JSON.stringify(native)}` : !offered ? "not offered" : same ? "same" : JSON.stringify(watched);
    const line = document.querySelector("table").insertRow();
    for (const text of [group, name, verdict]) line.insertCell().textContent = text;
    state.textContent = `${sdk} in ${ENGINE}: running`;
  });
  const count = (matches) => rows.filter(matches).length;
  state.textContent = `${sdk} in ${ENGINE}: ${count(({ same }) => same)} of ${count(({ offered }) => offered)} as without it`;
}
