// A page that runs random programs, with the SDK that the address names, or without one.

import { runApp } from "/walk/app.js";

const sdkName = new URLSearchParams(location.search).get("sdk");
// The top frame has no SDK. The second try is for browsers that fail now and then after thousands of connections.
const ask = (path) => window.top.fetch(path).catch(() => window.top.fetch(path));

window.ready = prepare();

async function prepare() {
  const sdk = sdkName && (await import(`/sdks/${sdkName}.js`));
  await sdk?.ready?.();
  return async (program, id) => JSON.stringify(await runApp(JSON.parse(program), id, ask));
}
