// AsyncLocalStorage in runtimes that may lack it: edge runtimes have it as a global, Workers by a compatibility flag.

/** @type {typeof import("node:async_hooks").AsyncLocalStorage | undefined} */
export const AsyncLocalStorage =
  /** @type {any} */ (globalThis).AsyncLocalStorage ??
  globalThis.process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
