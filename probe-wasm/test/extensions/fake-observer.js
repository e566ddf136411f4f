// Stand-ins for what a browser calls back: changes of the page, and messages between its parts.

/** Replaces the page's observer. The result says whether and what it observes, and `changed` calls it with changes. */
export function fakeObserver() {
  const fake = { observing: false, targets: new Set() };
  globalThis.MutationObserver = class {
    constructor(callback) {
      fake.changed = (...changes) => fake.observing && callback(changes);
    }
    observe(target) {
      fake.observing = true;
      fake.targets.add(target);
    }
    disconnect() {
      fake.observing = false;
      fake.targets.clear();
    }
  };
  globalThis.MessageChannel = class {
    port1 = {};
    port2 = { postMessage: () => this.port1.onmessage({}) };
  };
  return fake;
}
