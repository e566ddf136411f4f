// Watches fetch in place. The app gets the same native Response, bytes, promises and errors as
// without it; each moment goes to `tap.sink(stream, moment, value, time)` as it happens.
//
// Nothing here clones, tees, or rebuilds a request or response, and nothing is read that the app
// does not read. `stub.js` inlines this file into pages, so every byte of it counts.

import { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } from "./moments.js";

const STREAMS = /event-stream|ndjson|stream\+json|json-seq|jsonl/;
// In JSON a quote inside a string is escaped: these match keys of the request, never its text.
const ASKS = /"stream"\s*:\s*true/;
const MODEL = /"model"\s*:\s*"([^"\\]{1,128})"/;
// Both are looked for at the head and at the tail, however long the prompt between them is.
const EDGE_CHARS = 2000;

/** A tap that is not installed anywhere: `wrap(fetch)` makes a fetch that it watches. */
export function createTap(sink) {
  const tap = {
    sink,
    faults: 0,
    // A proxy keeps the name, the length and the source text of the function behind it.
    wrap: (fetch) => new Proxy(fetch, { apply: watchCall }),
  };
  return tap;

  /** A fault of ours ends the watching, never the app's call. */
  function guard(job, value) {
    try {
      return job?.(value);
    } catch {
      tap.faults++;
      tap.sink = () => {};
    }
  }

  function watchCall(fetch, self, args) {
    const stream = { time: performance.now() };
    /** The latest moment told; nothing follows one that ends a stream. */
    let last;
    let chosen, asked;
    /** How many bytes were told. */
    let bytes = 0;

    guard(ask, args);
    return follow(Reflect.apply(fetch, self, args), answered, fail);

    function ask([input, init]) {
      const { body, headers = input?.headers, signal = input?.signal } = init ?? {};
      const text = typeof body == "string" ? body.slice(0, EDGE_CHARS) + body.slice(-EDGE_CHARS) : "";
      stream.model = MODEL.exec(text)?.[1];
      stream.signal = signal;
      chosen = tap.matches?.(input, init);
      asked = chosen || ASKS.test(text) || STREAMS.test(headers?.get?.("accept") ?? JSON.stringify(headers));
      if (asked) tell(OPEN);
    }

    function tell(moment, value) {
      if (moment ? last <= moment && last < CLOSED : last == null)
        tap.sink(stream, (last = moment), value, performance.now());
    }

    function fail(error) {
      tell(FAILED, error);
    }

    function read() {
      tell(READ);
    }

    function answered(response) {
      const type = response.headers.get("content-type");
      // Then the request has failed by now, and few apps read what the refusal says.
      const failed = asked && response.status >= 400;
      // A web page in place of the stream that was asked for is worth telling; JSON is a server
      // that does not stream.
      const streams = failed || chosen || STREAMS.test(type) || (asked && !/\/json/.test(type));
      // One with a `clone` of its own is watched already, by a wrapper inside this one.
      if (!streams || !response.body || Object.hasOwn(response, "clone")) return tell(FORGET);
      tell(OPEN);
      tell(HEADERS, response);
      if (failed) tell(CLOSED);
      watchResponse(response);
    }

    // A side subscription would mark the promise as handled and so swallow the app's
    // `unhandledrejection`: the app gets the derived promise.
    function follow(result, kept, broken) {
      if (result?.then)
        return result.then(
          (value) => {
            guard(kept, value);
            return value;
          },
          (error) => {
            guard(broken, error);
            throw error;
          },
        );
      guard(kept, result);
      return result;
    }

    /**
     * Replaces a method on this one object. `before` may give the method another `this`; `kept` and
     * `broken` see what it returns, or what its promise comes to.
     */
    function watch(target, name, kept, before, broken = fail) {
      const native = target[name];
      if (native)
        Object.defineProperty(target, name, {
          writable: true,
          configurable: true,
          value(...args) {
            // A locked Response refuses to be read, which says nothing of the stream.
            return target.body?.locked
              ? native.apply(this, args)
              : follow(native.apply(guard(before) ?? this, args), kept, broken);
          },
        });
    }

    function watchResponse(response) {
      watchBody(response.body, 0);
      // Cloning gives a new body to both.
      watch(response, "clone", (copy) => {
        watchBody(response.body, 0);
        watchResponse(copy);
      });
      for (const name of ["text", "json", "arrayBuffer", "blob", "formData", "bytes"])
        watch(response, name, (whole) => bytes || tell(WHOLE, whole), read);
    }

    function watchBody(body, at) {
      let cancelled, reader;

      // The promise is kept when nobody can read the source any more: of two branches, the one that
      // is cancelled first waits for the other.
      const watchCancel = (target, name) =>
        watch(
          target,
          name,
          () => tell(CANCELLED),
          () => void (cancelled = true),
          () => (cancelled = false),
        );

      const watchReads = (target, name, closed) =>
        watch(
          target,
          name,
          ({ done, value }) => {
            at += value?.length ?? 0;
            // Branches of one body carry the same bytes: each counts when the first of them is there.
            const fresh = at - bytes;
            if (fresh > 0) {
              bytes = at;
              tell(CHUNK, value.subarray(-fresh));
            }
            // A read that was pending when the app cancelled ends with `done` as well.
            if (done && !cancelled) tell(CLOSED);
          },
          read,
          // A released lock or a bad view rejects a read, but not the stream.
          (error) => (closed ?? Promise.reject(error)).catch((reason) => reason == error && fail(error)),
        );

      const release = () => reader?.releaseLock();

      watchCancel(body, "cancel");
      watch(body, "getReader", (reader) => {
        watchReads(reader, "read", reader.closed);
        watchCancel(reader, "cancel");
      });
      for (const name of ["values", Symbol.asyncIterator])
        watch(body, name, (iterator) => {
          watchReads(iterator, "next");
          watchCancel(iterator, "return");
        });
      watch(body, "tee", (branches) => branches.map((branch) => watchBody(branch, at)));
      // Native pipes read behind the back of a replaced reader, so they start from a stream that is
      // read through it and buffers nothing.
      for (const name of ["pipeTo", "pipeThrough"])
        watch(
          body,
          name,
          (end) => end ?? release(),
          () => {
            if (body.locked) return;
            reader = body.getReader();
            reader.closed.then(release, release);
            return new ReadableStream(
              {
                pull: (to) => reader.read().then(({ done, value }) => (done ? to.close() : to.enqueue(value))),
                cancel: (reason) => reader.cancel(reason),
              },
              { highWaterMark: 0 },
            );
          },
          release,
        );
    }
  }
}
