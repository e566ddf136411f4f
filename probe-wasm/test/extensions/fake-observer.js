// Stand-ins for what a browser calls back: changes of the page, and messages between its parts.

/** Replaces the page's observer. The result says whether it observes, and `changed` calls it with changes. */
export function fakeObserver() {
  const fake = { observing: false };
  globalThis.MutationObserver = class {
    constructor(callback) {
      fake.changed = (...changes) => fake.observing && callback(changes);
    }
    observe() {
      fake.observing = true;
    }
    disconnect() {
      fake.observing = false;
    }
  };
  globalThis.MessageChannel = class {
    port1 = {};
    port2 = { postMessage: () => this.port1.onmessage({}) };
  };
  return fake;
}
