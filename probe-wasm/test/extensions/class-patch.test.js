// Watched classes of a page: they look the same to the page and its other scripts, and the watcher sees each call.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { listen, watchClass } from "../../js/extensions/class-patch.js";

const { prototype: target } = EventTarget;
let Native;
let seen;
let faults;

beforeEach(() => {
  Native = class Socket extends EventTarget {
    sent = [];
    send(data) {
      this.sent.push(data);
    }
    close(code) {
      return code;
    }
  };
  // Like those of browsers.
  for (const name of ["send", "close"]) Object.defineProperty(Native.prototype, name, { enumerable: true });
  globalThis.self = { Socket: Native };
  [seen, faults] = [[], 0];
});

function guard(job) {
  try {
    return job();
  } catch {
    faults++;
  }
}

/** Watches as an extension does, and notes calls under a name. */
function watch(by = "") {
  return watchClass({ guard }, "Socket", ["send", "addEventListener"], (socket) => {
    seen.push(`${by}made`);
    listen({ guard }, socket, "message", () => seen.push(`${by}heard`));
    return {
      send: ([data]) => seen.push(`${by}sent ${data}`),
      addEventListener: ([type]) => seen.push(`${by}listens to ${type}`),
    };
  });
}

/** Everything that a script can see of the class without calling it. */
function shape() {
  const { prototype } = self.Socket;
  const methods = Object.entries(Object.getOwnPropertyDescriptors(prototype)).map(([key, { value, ...flags }]) => [
    key,
    value.name,
    value.length,
    flags,
  ]);
  const { Socket } = self;
  return [Socket.name, Socket.length, methods, prototype.constructor == Socket, Object.keys(new Socket())];
}

test("a watched class keeps its shape and is restored afterwards", () => {
  const [before, entries] = [shape(), Object.entries(Object.getOwnPropertyDescriptors(Native.prototype))];
  const stop = watch();
  const { addEventListener, ...own } = Object.getOwnPropertyDescriptors(Native.prototype);
  const [name, length, methods, ...rest] = shape();
  assert.deepEqual([name, length, methods.filter(([key]) => key != "addEventListener"), ...rest], before);
  assert.deepEqual(Object.keys(own), entries.map(([key]) => key));
  assert.equal(addEventListener.value.name, "addEventListener");
  assert.ok(new self.Socket() instanceof Native);
  stop();
  assert.equal(self.Socket, Native);
  assert.deepEqual(Object.entries(Object.getOwnPropertyDescriptors(Native.prototype)), entries);
});

test("the probe sees the arguments that a subclass passes on", () => {
  watch();
  class Chat extends self.Socket {
    send(data) {
      super.send(JSON.stringify(data));
    }
  }
  const chat = new Chat();
  chat.send({ n: 1 });
  assert.deepEqual([seen, chat.sent], [["made", 'sent {"n":1}'], ['{"n":1}']]);
});

test("a subclass is not called before it is there", () => {
  watch();
  class Chat extends self.Socket {
    #types = [];
    addEventListener(type, ...rest) {
      this.#types.push(type);
      super.addEventListener(type, ...rest);
    }
  }
  const chat = new Chat();
  chat.addEventListener("delta", () => {});
  chat.dispatchEvent(new Event("message"));
  assert.deepEqual([seen, faults], [["made", "listens to delta", "heard"], 0]);
});

test("a later patch of a method applies to earlier instances", () => {
  watch();
  const socket = new self.Socket();
  const { send } = Native.prototype;
  const { addEventListener } = target;
  const patched = [];
  Native.prototype.send = function (data) {
    patched.push("send");
    send.call(this, data);
  };
  target.addEventListener = function (...args) {
    patched.push("addEventListener");
    addEventListener.apply(this, args);
  };
  socket.send("hi");
  socket.addEventListener("message", () => {});
  target.addEventListener = addEventListener;
  assert.deepEqual([patched, seen], [["send", "addEventListener"], ["made", "sent hi", "listens to message"]]);
});

test("a class watched twice is observed once, by the last watcher", () => {
  const stop = watch("first ");
  const old = new self.Socket();
  const stopLast = watch("last ");
  stop();
  new self.Socket().send("hi");
  old.send("ho");
  assert.deepEqual(seen, ["first made", "last made", "last sent hi", "first sent ho"]);
  stopLast();
  assert.equal(self.Socket, Native);
});

test("stop() keeps later wrappers, and a new watcher observes once", () => {
  const stop = watch("first ");
  const { Socket } = self;
  const { send } = Native.prototype;
  self.Socket = class extends Socket {};
  Native.prototype.send = function (data) {
    send.call(this, data);
  };
  const { Socket: theirs } = self;
  const { send: theirSend } = Native.prototype;
  stop();
  assert.deepEqual([self.Socket, Native.prototype.send], [theirs, theirSend]);
  new self.Socket().send("unseen");
  assert.deepEqual(seen, []);
  watch("last ");
  const socket = new self.Socket();
  socket.send("hi");
  assert.deepEqual([seen, socket.sent], [["last made", "last sent hi"], ["hi"]]);
});

test("a class that a script replaced by a subclass is observed", () => {
  self.Socket = class extends Native {
    send(data) {
      super.send(JSON.stringify(data));
    }
  };
  watch();
  new self.Socket().send({ n: 1 });
  assert.deepEqual(seen, ["made", 'sent {"n":1}']);
});

test("a function that replaces the class may return lookalikes", () => {
  const heard = [];
  const like = () => ({ addEventListener: (type) => heard.push(type), send: () => heard.push("sent") });
  for (const make of [() => new Native(), like]) {
    seen = [];
    self.Socket = function () {
      return make();
    };
    const stop = watch();
    new self.Socket().send("hi");
    assert.deepEqual([seen, faults], [["made", "sent hi"], 0]);
    stop();
  }
  assert.deepEqual(heard, ["message", "sent"]);
});

test("stand-ins with the prototype of the class are observed", () => {
  const { EventTarget } = globalThis;
  // Browsers recognise their own objects by a property that no script can make, here a private field.
  class Target {
    #is = true;
    addEventListener() {
      return this.#is;
    }
    removeEventListener() {
      return this.#is;
    }
  }
  class Socket extends Target {
    send() {}
  }
  const ownMethods = () => {
    const inner = new Socket();
    const methods = { addEventListener() {}, send: (text) => inner.send(text) };
    return Object.assign(Object.create(Socket.prototype), methods);
  };
  const get = (target, key) => (typeof target[key] == "function" ? target[key].bind(target) : target[key]);
  const handsOn = () => new Proxy(new Socket(), { get });
  globalThis.EventTarget = Target;
  try {
    for (const make of [ownMethods, handsOn]) {
      seen = [];
      const Hook = function () {
        return make();
      };
      Hook.prototype = Socket.prototype;
      self.Socket = Hook;
      const stop = watch();
      new self.Socket().send("hi");
      assert.deepEqual([seen, faults], [["made", "sent hi"], 0]);
      stop();
    }
  } finally {
    globalThis.EventTarget = EventTarget;
  }
});

test("a page without a usable class stays unchanged", () => {
  for (const page of [{}, { Socket: () => {} }]) {
    globalThis.self = { ...page };
    watch()();
    assert.deepEqual([self, faults], [page, 0]);
  }
});

test("a clock that throws keeps no instance from being made", (t) => {
  watch();
  t.mock.method(performance, "now", () => {
    throw new Error("the page's clock");
  });
  const socket = new self.Socket();
  assert.ok(socket instanceof Native);
  assert.equal(faults, 1);
});
