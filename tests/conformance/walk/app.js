// Runs the steps of a program as an app would, and records the result of each.

/** The target of a step: one of the three latest objects of its kind. */
const latest = (list, on) => list[list.length - 1 - (on % Math.min(list.length, 3))];

const BODY_METHODS = ["text", "json", "arrayBuffer", "blob", "bytes", "formData", "text", "json"];
const UNSUPPORTED = "unsupported";

/**
 * `id` distinguishes the requests of this run, and no SDK sees `ask`. The comparison takes `notes`: the results that
 * settled between two pauses, sorted. With an SDK a promise may settle some microtasks later than without.
 */
export async function runApp({ answers, steps }, id, ask) {
  const responses = [];
  const streams = [];
  const readers = [];
  const iterators = [];
  const sinks = [];
  const controllers = [];
  const reason = new Error("the user pressed stop");
  const notes = [];
  let span = [];

  const onUnhandled = (event) => {
    event.preventDefault();
    span.push(`unhandled ${named(event.reason)}`);
  };
  addEventListener("unhandledrejection", onUnhandled);

  const run = {
    fetch() {
      const at = controllers.length;
      if (at == answers.length) return;
      const { type, status, length, steps, asks, signals } = answers[at];
      const query = new URLSearchParams({ type, status, steps, ...(length && { length }) });
      const controller = new AbortController();
      controllers.push(controller);
      const body = JSON.stringify({ model: `${id}-${at}`, stream: asks });
      const init = { method: "POST", body, ...(signals && { signal: controller.signal }) };
      return fetch(`/play/${id}-${at}?${query}`, init);
    },
    go: (on) => void go(on % answers.length),
    getReader: (on) => stream(on)?.getReader(),
    byobReader: (on) => (isWebKit ? UNSUPPORTED : stream(on)?.getReader({ mode: "byob" })),
    madeReader: (on) => stream(on) && new ReadableStreamDefaultReader(stream(on)),
    prototypeReader: (on) => stream(on) && ReadableStream.prototype.getReader.call(stream(on)),
    read: (on, how) => {
      const reader = latest(readers, on);
      return reader instanceof ReadableStreamDefaultReader ? reader.read() : reader?.read(view(how));
    },
    drain: (on) => drain(latest(readers, on)),
    closed: (on) => latest(readers, on)?.closed,
    release: (on) => latest(readers, on)?.releaseLock(),
    cancelReader: (on, how) => latest(readers, on)?.cancel(...reasonFor(how)),
    cancelStream: (on, how) => stream(on)?.cancel(...reasonFor(how)),
    tee: (on) => stream(on)?.tee(),
    clone: (on) => latest(responses, on)?.clone(),
    values: (on, how) => (canIterate ? stream(on)?.values(how & 1 ? { preventCancel: true } : undefined) : UNSUPPORTED),
    iterator: (on) => (canIterate ? stream(on)?.[Symbol.asyncIterator]() : UNSUPPORTED),
    next: (on) => latest(iterators, on)?.next(),
    return: (on, how) => latest(iterators, on)?.return(...reasonFor(how)),
    whole: (on, how) => latest(responses, on)?.[BODY_METHODS[how % BODY_METHODS.length]](),
    pipeThrough: (on, how) => takeStream(on)?.pipeThrough(how & 1 ? new TransformStream() : slowTransform(), pipeOptions(how)),
    pipeTo: (on, how) => takeStream(on)?.pipeTo(sink(how), pipeOptions(how)),
    wrap: (on) => stream(on) && new Response(takeStream(on)),
    transfer: (on) => (isWebKit ? UNSUPPORTED : stream(on) && transferred(stream(on))),
    abort: (on, how) => latest(controllers, on)?.abort(...reasonFor(how)),
  };

  for (const [at, { name, on, how }] of steps.entries()) {
    if (name == "settle") await settle();
    else if (name == "pause") await Promise.resolve();
    else note(`${at} ${name}`, () => run[name](on, how));
  }
  // Open every gate, and wait for the bytes behind it.
  const gates = Math.max(0, ...answers.slice(0, controllers.length).map(({ steps }) => steps.split("gate").length - 1));
  for (let gate = 0; gate < gates; gate++) {
    for (const at of controllers.keys()) await go(at);
    await settle();
  }
  await settle();
  span.push(...sinks.map((sink) => JSON.stringify(sink)));
  await settle();
  removeEventListener("unhandledrejection", onUnhandled);
  const logs = await Promise.all(Array.from(controllers.keys(), async (at) => (await ask(`/log/${id}-${at}`)).json()));
  // The time of a close by the client is not compared: the server does not know it.
  const ends = logs.map(({ end, requests, body, method }) => [end, requests, body.length, method]);
  return { notes: notes.map((span) => span.map(mergeDrips)), ends };

  function note(what, job) {
    let result;
    try {
      result = job();
    } catch (error) {
      return span.push(`${what} throws ${named(error)}`);
    }
    if (typeof result?.then != "function") return span.push(`${what} gives ${describe(result)}`);
    span.push(`${what} begins`);
    result.then(
      (value) => span.push(`${what} resolves ${describe(value)}`),
      (error) => span.push(`${what} rejects ${named(error)}`),
    );
  }

  function stream(on) {
    return latest(streams, on);
  }

  /**
   * A stream for a pipe or another response, which no later step uses. With an SDK, a pipe whose sink has failed may
   * unlock it earlier or later, and engines differ in whether a response locks it.
   */
  function takeStream(on) {
    const taken = stream(on);
    if (taken && !taken.locked) streams.splice(streams.indexOf(taken), 1);
    return taken;
  }

  /** Describes a result, and keeps the objects that later steps can use. */
  function describe(value) {
    if (value === reason) return "the reason";
    if (value instanceof Response) {
      responses.push(value);
      if (value.body) streams.push(value.body);
      const { status, type, url, redirected, bodyUsed } = value;
      return `a response ${[status, type, url && "url", redirected, bodyUsed, value.body === value.body]}`;
    }
    if (value instanceof ReadableStream) return `a stream ${streams.push(value) && value.locked}`;
    if (typeof value?.releaseLock == "function") return readers.push(value) && value.constructor.name;
    if (ArrayBuffer.isView(value)) return `${value.constructor.name} ${text(value)}`;
    if (value instanceof ArrayBuffer) return `ArrayBuffer ${text(value)}`;
    if (value instanceof Blob) return `Blob ${value.size} ${value.type}`;
    if (Array.isArray(value)) return `[${value.map(describe)}]`;
    if (typeof value?.next == "function") return `an iterator ${iterators.push(value) && true}`;
    if (typeof value?.done == "boolean") return `${Object.keys(value)} ${value.done} ${describe(value.value)}`;
    return `${JSON.stringify(value)}`;
  }

  function named(error) {
    return error === reason ? "the reason" : error instanceof Error || error instanceof DOMException ? error.name : `${error}`;
  }

  async function go(at) {
    await ask(`/go/${id}-${at}`);
  }

  /** Waits until everything has happened that needs no further step. */
  async function settle() {
    for (let trip = 0; trip < 2; trip++) {
      await ask(`/log/${id}`);
      await new Promise((resolve) => setTimeout(resolve));
    }
    const ours = responses.filter(({ body }) => streams.includes(body));
    span.push(`used ${ours.map(({ bodyUsed }) => +bodyUsed)} locked ${streams.map(({ locked }) => +locked)}`);
    notes.push(span.sort());
    span = [];
  }

  async function drain(reader) {
    if (!reader) return;
    let all = "";
    for (;;) {
      const { done, value } = await (reader instanceof ReadableStreamDefaultReader ? reader.read() : reader.read(view(5)));
      if (done) return all;
      all += text(value);
    }
  }

  function reasonFor(how) {
    return [[], [reason], ["a word"], [undefined]][how % 4];
  }

  function view(how) {
    return [() => new Uint8Array(9), () => new Uint8Array(400), () => new DataView(new ArrayBuffer(64)), () => new Uint16Array(8), () => new Uint8Array(0)][how % 5]();
  }

  function pipeOptions(how) {
    const options = { preventClose: !!(how & 2), preventCancel: !!(how & 4), preventAbort: !!(how & 8) };
    return how & 16 ? { ...options, signal: latest(controllers, how).signal } : options;
  }

  /** Passes on one chunk per task. */
  function slowTransform() {
    return new TransformStream({
      transform: (chunk, controller) => new Promise((resolve) => setTimeout(() => resolve(controller.enqueue(chunk)))),
    });
  }

  /** A sink that records its chunks. One in four fails at the second chunk. */
  function sink(how) {
    const kept = { text: "", ended: "open" };
    sinks.push(kept);
    let room = how >= 48 ? 1 : Infinity;
    return new WritableStream({
      write(chunk) {
        if (!room--) throw reason;
        kept.text += text(chunk);
      },
      close: () => void (kept.ended = "closed"),
      abort: (why) => void (kept.ended = named(why)),
    });
  }
}

/** Counts repeated `drip` events as one, because their number depends on time. */
function mergeDrips(note) {
  return note.replace(/(data: \{\}(?:\n|\\n){2})+/g, "$1");
}

/** Decodes as Latin-1, so that half a UTF-8 character stays visible. */
function text(bytes) {
  const whole = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
  return String.fromCharCode(...whole);
}

function transferred(stream) {
  const { port1, port2 } = new MessageChannel();
  const got = new Promise((resolve) => (port2.onmessage = ({ data }) => resolve(data)));
  port1.postMessage(stream, [stream]);
  return got;
}

const canIterate = Symbol.asyncIterator in ReadableStream.prototype;
const isWebKit = !/Firefox|Chrome/.test(navigator.userAgent);
