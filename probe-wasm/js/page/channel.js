// A list of the app's callbacks for one kind of report.

/** A function that adds a callback, and one that calls all of them. */
export function createChannel() {
  const callbacks = new Set();
  return [
    (callback) => {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
    // Without a callback no report is made.
    (makeJson) => {
      const json = callbacks.size && makeJson();
      if (!json) return;
      // Two microtasks later the app's own reaction to the read has run.
      for (const callback of callbacks) queueMicrotask(() => queueMicrotask(() => callback(JSON.parse(json))));
    },
  ];
}
