// A page for made-up apps, with the SDK in it that the address names, or with none.

import { runApp } from "/walk/app.js";

const sdkName = new URLSearchParams(location.search).get("sdk");
// The top has no SDK. A browser that opens thousands of connections fails to now and then.
const ask = (path) => window.top.fetch(path).catch(() => window.top.fetch(path));

window.ready = prepare();

async function prepare() {
  const sdk = sdkName && (await import(`/sdks/${sdkName}.js`));
  await sdk?.ready?.();
  return async (program, id) => JSON.stringify(await runApp(JSON.parse(program), id, ask));
}
