// Lets one extension ask another whether a request is of an LLM client, although it does not say that it wants a stream.

/** The test of each probe. `failures` sets it, and extensions that watch other requests than those of fetch call it. */
export const requestTests = new WeakMap();
