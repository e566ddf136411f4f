// AsyncLocalStorage in Node, Bun and Deno.

export { AsyncLocalStorage } from "node:async_hooks";
