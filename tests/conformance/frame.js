// Runs one check in this frame, with the SDK that the address names, or without one.

import { createTools } from "/tools.js";

const TOO_LONG_MS = 40_000;
const { group, name, sdk = "" } = Object.fromEntries(new URLSearchParams(location.search));

window.outcome = runCheck().then(JSON.stringify);

async function runCheck() {
  const { default: checks } = await import(`/checks/${group}.js`);
  const check = checks.find((check) => check.name == name);
  const tools = createTools(sdk);
  check.before?.(tools);
  if (sdk) tools.sdk = await import(`/sdks/${sdk}.js`);
  const missing = sdk && check.needs && !tools.sdk[check.needs];
  if (missing) return { missing };
  await tools.sdk?.ready?.();
  const tooLong = new Promise((resolve) => setTimeout(resolve, check.tooLongMs ?? TOO_LONG_MS, "did not end"));
  let seen;
  try {
    seen = await Promise.race([check.run(tools), tooLong]);
  } catch (error) {
    seen = `threw ${tools.errorName(error)} at ${error?.stack}`;
  }
  return { seen: seen ?? null, messages: tools.messages, unhandled: await tools.unhandled() };
}
