// What stands in a worker for the page: the worker itself, and a document that is always seen.

export const window = globalThis.self;

export const document = { hidden: false, addEventListener() {}, removeEventListener() {} };
