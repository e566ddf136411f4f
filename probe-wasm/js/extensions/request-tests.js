// What one extension asks another: whether a request that does not say that it asks for a stream is of an LLM client.

/** By the probe: `failures` sets it, and extensions that watch requests of their own call it. */
export const requestTests = new WeakMap();
