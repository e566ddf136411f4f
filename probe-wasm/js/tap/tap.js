// Watches fetch in place. The app gets the same native Response, bytes, promises and errors as
// without it; each moment goes to `tap.sink(stream, moment, value, time)` as it happens. What a sink throws ends
// the watching; only at `READ`, which comes before every read, it is to throw nothing.
//
// Nothing here clones, tees, or rebuilds a request or response, and nothing is read that the app
// does not read. `stub.js` inlines this file into pages, so every byte of it counts.

import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "./tap-events.js";

/** Content types of streams. */
export const STREAMS = /event-stream|ndjson|jsonl|stream\+json|json-seq/i;
// In JSON a quote inside a string is escaped: this matches a key of the request, never its text. And `true` is
// all that begins so.
export const ASKS = /"stream"\s*:\s*t/;

const { apply } = Reflect;

/**
 * A tap that is not installed anywhere: `wrap(fetch)` makes a fetch that it watches. `held` and `native` are for
 * those who install it. Once it has loaded, the probe sets `examine` to look at requests more closely
 * (`request.js`).
 */
export function createTap(sink, held, native) {
  // To ask the page for it takes longer than to ask it for the time.
  const clock = performance;
  const tap = {
    sink,
    held,
    native,
    broken: 0,
    // Until then the end of the body has to do, where apps put what differs from call to call.
    examine: (stream, input, init) => ASKS.test(init?.body?.slice?.(-9000)),
    // A proxy keeps the name, the length and the source text of the function behind it.
    wrap: (fetch) => new Proxy(fetch, { apply: watchCall }),
  };
  return tap;

  /** Lets the value through. A fault of ours ends the watching, never the app's call. */
  function guarded(job) {
    return (value) => {
      try {
        if (job) job(value);
      } catch {
        tap.broken++;
        tap.sink = () => {};
      }
      return value;
    };
  }

  function watchCall(fetch, self, args) {
    const stream = { time: clock.now(), bodies: 1 };
    /** The latest moment told; nothing follows one that ends a stream. */
    let last;
    /** Whether a stream was asked for; over 1: by an app that told us to take any answer for one. */
    let asked;
    /** How many bytes were told. */
    let bytes = 0;
    /** Whether the app has asked for the whole, which ends the stream: of a branch it may have cancelled another. */
    let whole;

    const called = apply(fetch, self, args);
    // The request is on its way: what is read of it now costs the user no time.
    guarded(ask)(args);
    return follower(guarded(answered), fail)(called);

    function tell(moment, value) {
      if (!moment || (last <= moment && last < CLOSED)) tap.sink(stream, (last = moment), value, clock.now());
    }

    function fail(error) {
      tell(FAILED, error);
    }

    /**
     * Replaces those methods that this one object has by proxies, which keep their names and lengths. `call` calls
     * them; what they return, or their promises come to, goes through `keep` or past `broken`.
     */
    function watch(target, names, keep, call = apply, broken) {
      const follow = follower(keep, broken);
      for (const name of names)
        if (target?.[name])
          Reflect.defineProperty(target, name, {
            configurable: true,
            writable: true,
            value: new Proxy(target[name], {
              apply(native, self, args) {
                // What is used up or locked refuses to be read, which says nothing of the stream. Readers and
                // iterators, which are asked for each chunk, are never either.
                return (call != read &&
                  (target.bodyUsed || (!Object.hasOwn(target, "body") && (target.body ?? target).locked))) ||
                  self != target
                  ? apply(native, self, args)
                  : follow(call(native, self, args));
              },
            }),
          });
    }

    function watchResponse(response) {
      // Once somebody has looked at the body, WebKit reads it another way: until the app does, nobody may.
      const awaitLook = () =>
        Reflect.defineProperty(response, "body", {
          configurable: true,
          get() {
            // Where the app has frozen it, what is defined here stays.
            const look = guarded(Reflect.deleteProperty(response, "body") && watchBody);
            return look(Reflect.get(response.__proto__, "body", response));
          },
        });

      awaitLook();
      // Cloning gives a new body to both.
      const cloned = (copy) => {
        stream.bodies = 2;
        awaitLook();
        watchResponse(copy);
      };
      watch(response, ["clone"], guarded(cloned));
      watch(
        response,
        ["text", "json", "arrayBuffer", "blob", "bytes"],
        guarded((value) => tell(WHOLE, value)),
        (...call) => {
          whole = true;
          return read(...call);
        },
        fail,
      );
    }

    function watchBody(body, at = 0) {
      let cancelled;

      watchReader(body);
      watch(body, ["getReader", "values", Symbol.asyncIterator], guarded(watchReader));
      const teed = (branches) => {
        stream.bodies = 2;
        branches.map((branch) => watchBody(branch, at));
      };
      watch(body, ["tee"], guarded(teed));
      // Native pipes read behind the back of a replaced reader, so they start from a stream that is
      // read through it and buffers nothing.
      watch(body, ["pipeThrough", "pipeTo"], guarded(), pipe);

      /** A reader has `read` and `cancel`, an iterator `next` and `return`; a body can be cancelled as well. */
      function watchReader(target) {
        // Releasing the lock gives the reader another promise.
        const closed = target?.closed;
        watch(
          target,
          ["next", "read"],
          // Every chunk comes this way, and nothing else does: it is compiled for them alone.
          (result) => {
            try {
              const { done, value } = result;
              // Branches of one body carry the same bytes: each counts when the first of them is there.
              if ((at += value?.length) > bytes) {
                tell(CHUNK, stream.bodies > 1 ? value.subarray(bytes - at) : value);
                bytes = at;
              }
              // A read that was pending when the app cancelled ends with `done` as well.
              if (done && !cancelled) tell(CLOSED);
            } catch {
              // It is no function: the fault happens once more, where it is counted.
              guarded(result)();
            }
            return result;
          },
          read,
          // A released lock or a bad view rejects a read, but not the stream.
          (error) => closed?.catch((reason) => reason == error && fail(error)) ?? fail(error),
        );
        // The promise is kept when nobody can read the source any more: of two branches, the one that
        // is cancelled first waits for the other.
        watch(
          target,
          ["cancel", "return"],
          guarded(() => whole || tell(CANCELLED)),
          (...call) => {
            cancelled = true;
            return apply(...call);
          },
          () => (cancelled = false),
        );
      }

      function pipe(native, self, args) {
        let reader;
        const release = (value) => (reader?.releaseLock(), value);
        const source = new ReadableStream(
          {
            // Released no earlier than the pipe has got the end or the error: then there is neither.
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
      }
    }

    function ask(call) {
      return (asked = tap.examine(stream, ...call)) && tell(OPEN);
    }

    function read(native, self, args) {
      tell(READ);
      return apply(native, self, args);
    }

    function answered(response) {
      const type = response?.headers?.get("content-type");
      // Then the request has failed by now, and few apps read what the refusal says.
      const failed = asked && response.status >= 400;
      // EventSource refuses all types but one, fetch none: what the bytes are is seen when they come.
      // A web page in place of the stream that was asked for is worth telling; JSON is a server
      // that does not stream.
      const streams = failed || STREAMS.test(type) || (asked && !/\/json/.test(type)) || asked > 1;
      // One with a `clone` of its own is watched already, by a wrapper inside this one.
      if (streams && !Object.hasOwn(response, "clone")) {
        if (!asked) tell(OPEN);
        tell(HEADERS, response);
        if (failed) tell(CLOSED);
        watchResponse(response);
      } else tell(FORGET);
    }

    // A side subscription would mark the promise as handled and so swallow the app's
    // `unhandledrejection`: the app gets the derived promise. Zone.js replaces `then` by one that gives
    // another kind of promise, and keeps the page's under a name of its own.
    function follower(keep, broken) {
      return (result) =>
        (result?.__zone_symbol__then ?? result?.then)?.call(result, keep, (error) => {
          throw guarded(broken)(error);
        }) ?? keep(result);
    }
  }
}
