// Watches fetch in place. The app gets the same native Response, bytes, promises and errors as without the tap.
// The tap calls `tap.sink_(stream, event, value, time)` as things happen. If a sink throws, the tap disables itself.
//
// Nothing here clones, tees or rebuilds a request or response, and the tap reads nothing that the app does not read.
// `entry/stub.js` inlines this file into pages, so every byte of it counts.

import { STREAMS } from "./content-types.js";
import { ASKS } from "./request-patterns.js";
import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "./tap-events.js";

const { apply } = Reflect;

/**
 * A tap that is not installed anywhere: `wrap_(fetch)` makes a fetch that it watches. `buffered_` and `native_` are for
 * the code that installs it. Once the probe has loaded, it sets `inspect_` to look at requests more closely
 * (`request-inspector.js`).
 *
 * The build shortens members that end in `_`.
 */
export function createTap(sink, buffered, native) {
  const tap = {
    sink_: sink,
    buffered_: buffered,
    native_: native,
    broken_: 0,
    // To look up the page's `performance` takes longer than to read the time from it.
    clock_: performance,
    // Until the probe has loaded, the end of the body has to do: apps put there what differs from call to call.
    inspect_: (stream, input, init) => ASKS.test(init?.body?.slice?.(-9000)),
    // A proxy keeps the name, the length and the source text of the function behind it.
    wrap_: (fetch) => new Proxy(fetch, { apply: watchCall }),
  };
  return tap;

  function watchCall(fetch, self, args) {
    /**
     * The state of one call, which every function below gets. `latest_` is the last event that the sink got.
     * `asked_`: the request asks for a stream. `wantsWhole_`: the app has asked for the whole body, so that the cancel of another branch ends nothing.
     */
    const call = { tap_: tap, emittedBytes_: 0, stream: { bodies_: 1 } };
    // The page may have replaced its clock by one that throws: the app's call goes on.
    const timed = guarded(call, () => (call.stream.time = tap.clock_.now()));
    const called = timed(apply)(fetch, self, args);
    // The request is on its way: to read its arguments from here on costs the user no time.
    guarded(call, inspectRequest)(args);
    return follower(call, inspectResponse, fail)(called);
  }
}

/** Events come in their order, and nothing follows one that ends the stream. */
function emit(call, event, value) {
  const isNext = event == OPEN || (call.latest_ <= event && call.latest_ < CLOSED);
  if (!isNext) return;
  call.latest_ = event;
  call.tap_.sink_(call.stream, event, value, call.tap_.clock_.now());
}

function fail(call, error) {
  emit(call, FAILED, error);
}

function readNative(call, native, self, args) {
  guarded(call, emit)(READ);
  return apply(native, self, args);
}

function inspectRequest(call, args) {
  call.asked_ = call.tap_.inspect_(call.stream, ...args);
  if (call.asked_) emit(call, OPEN);
}

function inspectResponse(call, response) {
  const asked = call.asked_;
  const type = response?.headers?.get("content-type");
  // EventSource refuses all types but one, fetch none: the first bytes show the format. A web page in place of the
  // stream that was asked for is a defect to report.
  const isStream = asked || STREAMS.test(type);
  // A response with a `clone` of its own is watched already, by a wrapper inside this one.
  if (!isStream || Object.hasOwn(response, "clone")) return emit(call, FORGET);
  if (!asked) emit(call, OPEN);
  emit(call, HEADERS, response);
  // The request has failed, and few apps read the body of a refusal.
  if (asked && response.status >= 400) emit(call, CLOSED);
  watchResponse(call, response);
}

function watchResponse(call, response) {
  watchBodyWhenAsked(call, response);
  watchMethods(call, response, ["clone"], (call, copy) => {
    call.stream.bodies_ = 2;
    // Cloning gives a new body to both.
    watchBodyWhenAsked(call, response);
    watchResponse(call, copy);
  });
  watchMethods(
    call,
    response,
    ["text", "json", "arrayBuffer", "blob", "bytes"],
    (call, value) => emit(call, WHOLE, value),
    (call, ...args) => {
      call.wantsWhole_ = true;
      return readNative(call, ...args);
    },
    fail,
  );
}

/** Leaves the body alone until the app looks at it: once any code has looked, WebKit reads the body another way. */
function watchBodyWhenAsked(call, response) {
  Reflect.defineProperty(response, "body", {
    configurable: true,
    get() {
      // If the app has frozen the response, the property defined here stays, and the body is not watched.
      const look = guarded(call, Reflect.deleteProperty(response, "body") && watchBody);
      return look(Reflect.get(response.__proto__, "body", response));
    },
  });
}

/** Watches a body, or a branch of one that begins at the byte `at`. */
function watchBody(call, body, at = 0) {
  const branch = { at };
  const watchRead = (call, reader) => watchReader(call, reader, branch);
  watchRead(call, body);
  watchMethods(call, body, ["getReader", "values", Symbol.asyncIterator], watchRead);
  watchMethods(call, body, ["tee"], (call, branches) => {
    call.stream.bodies_ = 2;
    branches.map((body) => watchBody(call, body, branch.at));
  });
  watchMethods(call, body, ["pipeThrough", "pipeTo"], undefined, pipingFrom(body));
}

/** A reader has `read` and `cancel`, an iterator `next` and `return`. A body can be cancelled as well. */
function watchReader(call, target, branch) {
  // Releasing the lock gives the reader another promise.
  const closed = target?.closed;
  watchMethods(
    call,
    target,
    ["next", "read"],
    (call, { done, value = "" } = {}) => {
      branch.at += value?.length;
      // Branches of one body carry the same bytes: each byte counts when the first branch has it.
      const newBytes = branch.at - call.emittedBytes_;
      if (newBytes > 0) {
        emit(call, CHUNK, call.stream.bodies_ > 1 ? value.subarray(-newBytes) : value);
        call.emittedBytes_ = branch.at;
      }
      // A read that was pending when the app cancelled ends with `done` as well.
      if (done && !branch.cancelled_) emit(call, CLOSED);
    },
    readNative,
    // A released lock or a bad view rejects a read, but not the stream.
    (call, error) => (closed ? closed.catch((reason) => reason == error && fail(call, error)) : fail(call, error)),
  );
  watchMethods(
    call,
    target,
    ["cancel", "return"],
    // This promise settles when nothing can read the source any more. Of two branches, the one that is cancelled
    // first waits for the other.
    (call) => call.wantsWhole_ || emit(call, CANCELLED),
    (call, ...args) => {
      branch.cancelled_ = true;
      return apply(...args);
    },
    () => (branch.cancelled_ = false),
  );
}

/**
 * Native pipes do not call the `read` of a replaced reader. So they get a stream that reads through a watched reader
 * and buffers nothing.
 */
function pipingFrom(body) {
  return (call, native, self, args) => {
    let reader;
    const release = (value) => (reader?.releaseLock(), value);
    const source = new ReadableStream(
      {
        // The lock is released no earlier than the pipe has got the end or the error.
        pull: (to) =>
          reader.read().then(
            ({ done, value }) => (done ? to.close(release()) : to.enqueue(value)),
            (error) => {
              throw release(error);
            },
          ),
        cancel: (reason) => release((reader ?? body).cancel(reason)),
      },
      { highWaterMark: 0 },
    );
    const piped = apply(native, source, args);
    // Bad arguments have thrown by now, and have left the body alone.
    reader = body.getReader();
    piped.then?.(release, release);
    return piped;
  };
}

/**
 * Replaces those methods that this one object has by proxies, which keep their names and lengths. A proxy calls the
 * native method, by `invoke` where that is given. Then `keep` gets the result, or what its promise resolves to, and
 * `broken` gets what it rejects with.
 */
function watchMethods(call, target, names, keep, invoke, broken) {
  const follow = follower(call, keep, broken);
  for (const name of names)
    if (target?.[name])
      Reflect.defineProperty(target, name, {
        configurable: true,
        writable: true,
        value: new Proxy(target[name], {
          apply(native, self, args) {
            if (isSpent(target) || self != target) return apply(native, self, args);
            return follow(invoke ? invoke(call, native, self, args) : apply(native, self, args));
          },
        }),
      });
}

/** A response or body that is used up or locked rejects a read, which says nothing about the stream. */
function isSpent(target) {
  // While our own getter is there, no code has looked at the body, and so none has locked it.
  return target.bodyUsed || (!Object.hasOwn(target, "body") && (target.body ?? target).locked);
}

/**
 * A function that shows a result to `keep`, or an error to `broken`, and hands it on to the app.
 *
 * A side subscription would mark the promise as handled and so swallow the app's `unhandledrejection`. So the app
 * gets the derived promise. Zone.js replaces `then` by one that gives another kind of promise, and keeps the page's
 * under a name of its own.
 */
function follower(call, keep, broken) {
  const kept = guarded(call, keep);
  const failed = guarded(call, broken);
  return (result) => {
    const then = result?.__zone_symbol__then ?? result?.then;
    return (
      then?.call(result, kept, (error) => {
        throw failed(error);
      }) ?? kept(result)
    );
  };
}

/** A function that returns its argument. If our `job` throws, the tap disables itself; the app's call is unaffected. */
function guarded(call, job) {
  return (value) => {
    try {
      if (job) job(call, value);
    } catch {
      call.tap_.broken_++;
      call.tap_.sink_ = () => {};
    }
    return value;
  };
}
