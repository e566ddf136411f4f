// Measures the time per read in this frame, with the SDK that the address names, or without one. The page makes the
// responses of `/made` itself, below the SDK, so the time includes no network.

const { sdk } = Object.fromEntries(new URLSearchParams(location.search));
const ASKED = { method: "POST", body: '{"model":"demo","stream":true}' };
const WORDS = ["The", " river", " runs", " down", " to", " the", " sea", ",", " and", " on"];
const encoder = new TextEncoder();
const { fetch: native } = window;
/** Number of events in the next response. */
let length = 0;
/** Pause before each of them, in milliseconds. */
let pause = 0;

// Some SDKs replace the path by a full URL or by a Request.
const isOurs = (input) => new URL(input.url ?? input, location).pathname == "/made";
window.fetch = (input, init) => (isOurs(input) ? Promise.resolve(made(length)) : native(input, init));

/** A chat response, one event per read. */
function made(length) {
  let at = 0;
  const next = (to) => {
    if (at == length) to.enqueue(encoder.encode("data: [DONE]\n\n"));
    else if (at > length) return to.close();
    else to.enqueue(CHUNKS[at % CHUNKS.length]);
    at++;
  };
  // `setTimeout` waits at least four milliseconds.
  const pull = (to) => (pause ? scheduler.postTask(() => next(to), { delay: pause }) : next(to));
  const body = new ReadableStream({ pull }, { highWaterMark: 0 });
  return new Response(body, { headers: { "content-type": "text/event-stream" } });
}

const CHUNKS = Array.from({ length: 200 }, (_, at) => {
  const delta = { content: WORDS[at % WORDS.length] + (at % 7) };
  const choices = [{ index: 0, delta, logprobs: null, finish_reason: null }];
  const event = { id: "chatcmpl-9", object: "chat.completion.chunk", created: 1790000000, model: "demo", choices };
  return encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
});

/** Memories of the Wasm instances that the SDK has made. */
const memories = [];
WebAssembly.Instance = new Proxy(WebAssembly.Instance, {
  construct(...call) {
    const instance = Reflect.construct(...call);
    memories.push(instance.exports.memory);
    return instance;
  },
});

let imported = {};

window.cost = {
  ready: (async () => {
    if (sdk) imported = await import(`/sdks/${sdk}.js`);
    await imported.ready?.();
  })(),

  flush: () => imported.flush(),

  wasmBytes: () => memories.reduce((sum, { buffer }) => sum + buffer.byteLength, 0),

  /** Microseconds per read of a response with `events` events, `apart` milliseconds apart. */
  async perRead(events, apart = 0) {
    length = events;
    pause = apart;
    const reader = (await fetch("/made", ASKED)).body.getReader();
    let reads = 0;
    const start = performance.now();
    while (!(await reader.read()).done) reads++;
    const taken = performance.now() - start;
    // With several events in one read, the time would not be that of one read.
    if (reads != events + 1) throw new Error(`${reads} reads of ${events} events`);
    return (taken * 1000) / reads;
  },

  /** Reads `count` short responses, one after the other. */
  async streams(count) {
    for (let at = 0; at < count; at++) await cost.perRead(5);
  },
};
