// Shows each instance that a page or worker makes of one of its classes, and the calls of its methods, without
// changing what the page gets.

/** How to give back each class, by its name. */
const undos = {};
/** Who sees the calls of an instance's methods. */
const watchers = new WeakMap();

/**
 * Puts proxies in the place of `self[name]` and of its `methods`: statics, prototype, names, lengths and
 * `instanceof` stay as they are. `made(instance, time)` sees each instance first; what it gives back sees the
 * arguments of each call, before it. Of several that watch a class, the last does. Gives back how to undo it.
 */
export function watchClass({ guard }, name, methods, made) {
  undos[name]?.();
  const native = self[name];
  const prototype = native?.prototype;
  if (!prototype) return () => {};
  /** How to give back what was there; empty once it is done. */
  const undo = [];
  // A script may have put a function without methods in the place of a class: then each instance has its own.
  const home = methods[0] in prototype && innermost(prototype);
  const ours = new Proxy(native, {
    construct(...call) {
      const time = performance.now();
      const instance = Reflect.construct(...call);
      // Somebody may have wrapped what nobody watches by any longer.
      if (undo.length) guard(() => see(instance, made(instance, time)));
      return instance;
    },
  });
  undo.push(put(prototype, "constructor", ours), put(self, name, ours), ...(home ? watchMethods(home) : []));
  return (undos[name] = () => undo.splice(0).forEach((giveBack) => giveBack()));

  function see(instance, calls) {
    if (!calls) return;
    watchers.set(instance, (method, args) => guard(() => calls[method](args)));
    // A script may make something else look like an instance.
    if (!home || !isTarget(instance)) watchMethods(instance);
  }

  /** What has the methods that a subclass calls in the end. */
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

/** Gives back how to undo it, unless somebody has wrapped ours since. */
function put(object, key, ours) {
  const native = object[key];
  const isOwn = Object.hasOwn(object, key);
  object[key] = ours;
  return () => {
    if (object[key] == ours) isOwn ? (object[key] = native) : delete object[key];
  };
}

/** Hears events before the app does. */
export function listen({ guard }, target, type, heard) {
  const listener = (event) => guard(() => heard(event));
  try {
    // A subclass may have a method of its own, which is not for us.
    EventTarget.prototype.addEventListener.call(target, type, listener);
  } catch {
    // A script may have put something else in the place of a class.
    target.addEventListener(type, listener);
  }
}
