// Watches the probe's own requests, and warns of those that fail or are refused.

/** A fetch that the probe uses in the place of `native`. `warn` gets a sentence. */
export function watchRequests(native, warn) {
  return async function (input, init) {
    const what = kindOf(`${input}`);
    try {
      const response = await native.call(this, input, init);
      if (!response.ok) warn(await explainAnswer(what, response.clone()));
      return response;
    } catch (error) {
      warn(explainFailure(what, `${input}`));
      throw error;
    }
  };
}

const BEACON = "beacon";

function kindOf(url) {
  return url.includes("/v1/beacons") ? BEACON : "WebAssembly";
}

async function explainAnswer(what, response) {
  const { error } = await response.json().catch(() => ({}));
  const reason = error ? `${error.message} (${error.code})` : `status ${response.status}`;
  if (what == BEACON) return `the collector refused a beacon: ${reason}`;
  return `${response.url} cannot be loaded, so only chunks are measured: ${reason}`;
}

function explainFailure(what, url) {
  if (what != BEACON) return `${url} cannot be loaded, so only chunks are measured`;
  return `a beacon did not get through to ${new URL(url).origin}: is the collector running, is ${location.origin} among the site's \`origins\`, and does the page's policy allow the request (\`connect-src\`)?`;
}

/** A sentence if the page forbids WebAssembly. */
export async function explainPolicy() {
  try {
    // As the probe does: WebKit compiles, and then refuses the instance.
    new WebAssembly.Instance(await WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])));
  } catch {
    return "the page's policy forbids WebAssembly, so only chunks are measured: add 'wasm-unsafe-eval' to script-src";
  }
}
