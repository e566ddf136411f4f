// Watches the instances that a page or worker makes of one of its classes, and the calls of their methods, without a
// change for the page.

/** How to restore each class, by the purpose of those that watch it. */
const undos = {};
/** What gets the calls of an instance's methods, by the same purpose: a later watcher serves earlier instances. */
const watchersOf = {};

/**
 * Replaces `self[name]` and its `methods` by proxies: statics, prototype, names, lengths and `instanceof` stay as they
 * are. `made(instance, time)` sees each instance first. It returns functions by the names of methods, which get the
 * arguments of each call before the method does. Of several that watch a class for one purpose, the last does. Returns
 * how to undo it.
 */
export function watchClass({ guard }, name, methods, made, purpose = name) {
  undos[purpose]?.();
  const watchers = (watchersOf[purpose] ??= new WeakMap());
  const native = self[name];
  const prototype = native?.prototype;
  if (!prototype) return () => {};
  /** How to restore what was there; empty once that is done. */
  const undo = [];
  // A script may have put a function without methods in the place of a class: then each instance has its own.
  const home = methods[0] in prototype && innermost(prototype);
  const ours = new Proxy(native, {
    construct(...call) {
      const time = guard(() => performance.now());
      const instance = Reflect.construct(...call);
      // A script may have wrapped a proxy that watches no longer.
      if (undo.length) guard(() => watch(instance, made(instance, time)));
      return instance;
    },
  });
  undo.push(put(prototype, "constructor", ours), put(self, name, ours), ...(home ? watchMethods(home) : []));
  return (undos[purpose] = () => undo.splice(0).forEach((restore) => restore()));

  function watch(instance, calls) {
    if (!calls) return;
    watchers.set(instance, (method, args) => guard(() => calls[method](args)));
    // A script may make something else look like an instance.
    if (!home || !isTarget(instance)) watchMethods(instance);
  }

  /** The object with the methods that a subclass calls in the end. */
  function innermost(object) {
    const above = Object.getPrototypeOf(object);
    return methods[0] in above ? innermost(above) : object;
  }

  function watchMethods(object) {
    return methods.map((method) => {
      const isOwn = Object.hasOwn(object, method);
      const apply = (native, self, args) => {
        if (undo.length) watchers.get(object == home ? self : object)?.(method, args);
        return Reflect.apply(isOwn ? native : Object.getPrototypeOf(object)[method], self, args);
      };
      return put(object, method, new Proxy(object[method], { apply }));
    });
  }
}

function isTarget(instance) {
  try {
    EventTarget.prototype.removeEventListener.call(instance, "", null);
    return true;
  } catch {}
}

/** Returns how to undo it, unless a script has wrapped ours since. */
function put(object, key, ours) {
  const native = object[key];
  const isOwn = Object.hasOwn(object, key);
  object[key] = ours;
  return () => {
    if (object[key] == ours) isOwn ? (object[key] = native) : delete object[key];
  };
}

/** Hears events before the app does. */
export function listen({ guard }, target, type, onEvent) {
  const listener = (event) => guard(() => onEvent(event));
  try {
    // A subclass may have a method of its own, which is not meant for the probe.
    EventTarget.prototype.addEventListener.call(target, type, listener);
  } catch {
    // A script may have put something else in the place of a class.
    target.addEventListener(type, listener);
  }
}
