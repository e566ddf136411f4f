// Replaces the page in a worker: window is the worker itself, and the document is always visible.

const { self } = globalThis;

export const window = self;

export const document = { hidden: false, addEventListener() {}, removeEventListener() {} };
