// Shows each instance that a page or worker makes of one of its classes, and the calls of its methods, without
// changing what the page gets.

/**
 * Puts a proxy in the place of `self[name]`: statics, prototype, name, length and `instanceof` stay
 * as they are. `made(instance, time)` sees each instance first. Gives back how to undo it.
 */
export function watchConstructor(name, made) {
  const native = self[name];
  if (!native) return () => {};
  const ours = new Proxy(native, {
    construct(...call) {
      const time = performance.now();
      const instance = Reflect.construct(...call);
      made(instance, time);
      return instance;
    },
  });
  const { prototype } = native;
  prototype.constructor = self[name] = ours;
  return () => {
    // Somebody may have wrapped ours since.
    if (self[name] == ours) prototype.constructor = self[name] = native;
  };
}

/** Replaces a method of this one object by a proxy; `before` sees each call's arguments. */
export function watchMethod(target, name, before) {
  Object.defineProperty(target, name, {
    writable: true,
    configurable: true,
    value: new Proxy(target[name], {
      apply(method, self, args) {
        before(args);
        return Reflect.apply(method, self, args);
      },
    }),
  });
}
