// What an SDK is known to change, by SDK, engine and check: shown as known in the table, and told in
// docs/browsers.md. One that is no longer so fails.

/** Once a script has looked at `body`, WebKit reads whole bodies by it and wraps their errors. */
const WRAPPED = [
  ...["text", "json", "arrayBuffer", "blob"].map((method) => `a reset connection fails ${method}()`),
  ...["text", "json", "arrayBuffer", "blob", "bytes"].map((method) => `an abort rejects ${method}() with the reason`),
  "a timeout signal is a TimeoutError",
];

export default {
  "llm-rum": { WebKit: WRAPPED },
};
