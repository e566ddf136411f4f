// The tap against Node's own fetch: what the app gets is what it gets without it, and what is told is
// what happened.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import * as moments from "../js/moments.js";
import { requestExaminer } from "../js/request.js";
import { createTap } from "../js/tap.js";

const { CANCELLED, CHUNK, CLOSED, FAILED, FORGET, HEADERS, OPEN, READ, WHOLE } = moments;
const NAMES = Object.fromEntries(Object.entries(moments).map(([name, number]) => [number, name]));
const TEXT = "data: one\n\ndata: two\n\ndata: three\n\n";
const ASK = { method: "POST", body: '{"model":"m-1","stream":true}' };

let server, origin;
/** Resolves when the server sees that the client has gone. */
let gone;

before(async () => {
  server = createServer(async ({ url }, response) => {
    const { pathname: path } = new URL(url, "http://localhost");
    if (path == "/json") return response.writeHead(200, { "content-type": "application/json" }).end("{}");
    if (path == "/page") return response.writeHead(200, { "content-type": "text/html" }).end("<p>");
    if (path == "/429") return response.writeHead(429, { "content-type": "application/json" }).end("{}");
    if (path == "/204") return response.writeHead(204).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const [first, ...rest] = TEXT.split(/(?<=\n\n)/);
    await new Promise((written) => response.write(first, written));
    if (path == "/cut") return response.destroy();
    if (path == "/endless") return (gone = new Promise((resolve) => response.on("close", resolve)));
    for (const event of rest) {
      await new Promise(setImmediate);
      await new Promise((written) => response.write(event, written));
    }
    response.end();
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  origin = `http://127.0.0.1:${server.address().port}`;
});

after(() => server.closeAllConnections() ?? server.close());

/** A watched fetch, what was told to its sink, and the text of the chunks. */
function watched() {
  const told = [];
  const decoder = new TextDecoder();
  const seen = { told, text: "", values: [], streams: new Set() };
  const tap = createTap((stream, moment, value, time) => {
    assert.equal(typeof time, "number");
    seen.streams.add(stream);
    if (moment == CHUNK) seen.text += decoder.decode(value, { stream: true });
    if (moment != told.at(-1)) told.push(moment);
    seen.values.push(value);
  });
  tap.examine = requestExaminer();
  const fetch = tap.wrap(globalThis.fetch);
  return { tap, seen, fetch: (path, init) => fetch(origin + path, init) };
}

function names(told) {
  return told.map((moment) => NAMES[moment]).join(" ");
}

async function readAll(reader) {
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    text += typeof value == "string" ? value : decoder.decode(value, { stream: true });
  }
}

const WAYS = {
  "a reader": async (response) => readAll(response.body.getReader()),
  "a reader with its own buffer": async (response) => {
    const reader = response.body.getReader({ mode: "byob" });
    let text = "";
    for (;;) {
      const { done, value } = await reader.read(new Uint8Array(7));
      if (done) return text;
      text += new TextDecoder().decode(value);
    }
  },
  "two readers in turn": async (response) => {
    const first = response.body.getReader();
    const { value } = await first.read();
    first.releaseLock();
    return new TextDecoder().decode(value) + (await readAll(response.body.getReader()));
  },
  iteration: async (response) => {
    let text = "";
    for await (const chunk of response.body) text += new TextDecoder().decode(chunk);
    return text;
  },
  "values()": async (response) => {
    let text = "";
    for await (const chunk of response.body.values()) text += new TextDecoder().decode(chunk);
    return text;
  },
  pipeThrough: async (response) => readAll(response.body.pipeThrough(new TextDecoderStream()).getReader()),
  pipeTo: async (response) => {
    let text = "";
    const decoder = new TextDecoder();
    await response.body.pipeTo(new WritableStream({ write: (chunk) => void (text += decoder.decode(chunk)) }));
    assert.equal(response.body.locked, false);
    return text;
  },
  tee: async (response) => {
    const [one, two] = response.body.tee();
    const texts = await Promise.all([readAll(one.getReader()), readAll(two.getReader())]);
    assert.equal(texts[0], texts[1]);
    return texts[0];
  },
  "tee, the second branch first": async (response) => {
    const [one, two] = response.body.tee();
    await readAll(two.getReader());
    return readAll(one.getReader());
  },
  clone: async (response) => {
    const copy = response.clone();
    const text = await readAll(response.body.getReader());
    assert.equal(await readAll(copy.body.getReader()), text);
    return text;
  },
  "a clone read first": async (response) => {
    const text = await readAll(response.clone().body.getReader());
    assert.equal(await readAll(response.body.getReader()), text);
    return text;
  },
};

for (const [way, read] of Object.entries(WAYS))
  test(`read by ${way}, the app gets every byte and the tap is told of each once`, async () => {
    const { fetch, seen } = watched();
    assert.equal(await read(await fetch("/sse", ASK)), TEXT);
    assert.equal(seen.text, TEXT);
    assert.equal(names(seen.told), "OPEN HEADERS READ CHUNK CLOSED");
    assert.equal(seen.streams.size, 1);
  });

const WHOLES = {
  text: (value) => value,
  arrayBuffer: (value) => new TextDecoder().decode(value),
  blob: (value) => value.text(),
};

for (const [method, text] of Object.entries(WHOLES))
  test(`read by ${method}(), the whole is told at its end`, async () => {
    const { fetch, seen } = watched();
    const value = await (await fetch("/sse", ASK))[method]();
    assert.equal(await text(value), TEXT);
    assertWhole(seen, value);
  });

/** Node reads a whole body through the body's own reader, browsers behind it. */
function assertWhole({ told, text, values }, value) {
  if (told.at(-1) == CLOSED) assert.equal(text, TEXT);
  else assert.equal(values.at(-1), value);
  assert.match(names(told), /^OPEN HEADERS READ (WHOLE|CHUNK CLOSED)$/);
}

test("the response is the native one, and looks like it", async () => {
  const { fetch } = watched();
  const response = await fetch("/sse", ASK);
  assert.ok(response instanceof Response);
  assert.deepEqual([response.url, response.type, response.redirected], [`${origin}/sse`, "basic", false]);
  assert.equal(response.body, response.body);
  assert.deepEqual(Object.keys(response), Object.keys(new Response()));
  assert.deepEqual(Object.keys(response.body), []);
  assert.equal(Object.prototype.toString.call(response), "[object Response]");
  await response.body.cancel();
});

test("fetch keeps its name, length and source text", () => {
  const { wrap } = createTap(() => {});
  const fetch = wrap(globalThis.fetch);
  assert.deepEqual([fetch.name, fetch.length], [globalThis.fetch.name, globalThis.fetch.length]);
  assert.match(Function.prototype.toString.call(fetch), /\[native code\]/);
});

test("arguments go through untouched", async () => {
  const calls = [];
  const native = async (...args) => void calls.push(args);
  const init = { headers: new Headers({ accept: "text/event-stream" }), body: new Uint8Array(1) };
  const input = new URL("http://localhost/");
  await createTap(() => {}).wrap(native)(input, init, "more");
  assert.deepEqual(calls[0].map((arg, at) => arg === [input, init, "more"][at]), [true, true, true]);
});

test("a request is on its way before anything of it is looked at, and counts from before that", async () => {
  const order = [];
  const native = async () => void order.push("called", performance.now());
  const tap = createTap(({ time }) => order.push("told", time));
  tap.examine = () => order.push("looked at");
  await tap.wrap(native)("http://localhost/");
  const [, called, ...then] = order;
  assert.deepEqual(then.slice(0, 2), ["looked at", "told"]);
  assert.ok(then[2] <= called);
});

test("nobody looks at a body before the app does", async () => {
  const native = Object.getOwnPropertyDescriptor(Response.prototype, "body");
  let looks = 0;
  const get = function () {
    looks++;
    return native.get.call(this);
  };
  Object.defineProperty(Response.prototype, "body", { ...native, get });
  try {
    const { fetch, seen } = watched();
    const response = await fetch("/sse", ASK);
    const copy = response.clone();
    assert.deepEqual([await response.text(), await copy.text(), looks], [TEXT, TEXT, 0]);
    assert.equal(names(seen.told), "OPEN HEADERS READ WHOLE");
  } finally {
    Object.defineProperty(Response.prototype, "body", native);
  }
});

test("an answer without a body has none, and that is no fault", async () => {
  const { fetch, tap } = watched();
  const response = await fetch("/sse", { method: "HEAD" });
  assert.deepEqual([response.body, await response.text(), tap.faults], [null, "", 0]);
});

test("an answer that is no stream is left alone and not told", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/json");
  assert.equal(Object.getOwnPropertyDescriptor(response, "text"), undefined);
  assert.deepEqual(await response.json(), {});
  await fetch("/204");
  assert.deepEqual(seen.told, []);
});

test("JSON in place of the stream that was asked for is forgotten, a web page is told", async () => {
  const json = watched();
  await (await json.fetch("/json", ASK)).json();
  assert.deepEqual(json.seen.told, [OPEN, FORGET]);
  const page = watched();
  await readAll((await page.fetch("/page", ASK)).body.getReader());
  assert.deepEqual(page.seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
});

test("a refusal of a stream ends it at once", async () => {
  const { fetch, seen } = watched();
  assert.equal(await (await fetch("/429", ASK)).text(), "{}");
  assert.deepEqual(seen.told, [OPEN, HEADERS, CLOSED]);
  const plain = watched();
  await plain.fetch("/429");
  assert.deepEqual(plain.seen.told, []);
});

test("a request asks for a stream by its body or by what it accepts, and names its model", async () => {
  const prompt = JSON.stringify('"stream":true,"model":"x"'.repeat(500));
  const asks = [
    [{ method: "POST", body: '{"stream" : true, "model" :"gpt"}' }, "gpt"],
    [{ method: "POST", body: `{"model":"gpt","messages":${prompt},"stream":true}` }, "gpt"],
    [{ method: "POST", body: `{"messages":${prompt},"model":"gpt","stream":true}` }, "gpt"],
    [{ headers: { Accept: "text/event-stream" } }, undefined],
    [{ headers: [["accept", "application/x-ndjson"]] }, undefined],
    [{ headers: new Headers({ accept: "text/event-stream" }) }, undefined],
  ];
  for (const [init, model] of asks) {
    const { fetch, seen } = watched();
    await fetch("/json", init);
    assert.equal(seen.told[0], OPEN);
    assert.equal([...seen.streams][0].model, model);
  }
  const others = [{}, { method: "POST", body: '{"stream":false}' }, { method: "POST", body: `{"prompt":${prompt}}` }];
  for (const init of others) {
    const { fetch, seen } = watched();
    await fetch("/json", init);
    assert.deepEqual(seen.told, []);
  }
});

test("before the probe has loaded, a request asks for a stream by its body", async () => {
  const { tap, fetch, seen } = watched();
  tap.examine = undefined;
  await (await fetch("/429", ASK)).text();
  await (await fetch("/429", { headers: { accept: "text/event-stream" } })).text();
  await (await fetch("/429", { method: "POST", body: new Blob(["{}"]) })).text();
  assert.deepEqual(seen.told, [OPEN, HEADERS, CLOSED]);
});

test("what the app takes for a stream is watched, whatever it is", async () => {
  const { tap, fetch, seen } = watched();
  tap.examine = requestExaminer((input) => `${input}`.endsWith("/json"));
  assert.equal(await readAll((await fetch("/json")).body.getReader()), "{}");
  assert.deepEqual(seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
});

test("a cut body fails for the app as it does natively, and is told as a failure", async () => {
  const native = await (await globalThis.fetch(`${origin}/cut`)).text().catch((error) => error);
  for (const read of [(r) => readAll(r.body.getReader()), (r) => r.text(), WAYS.iteration, WAYS.pipeThrough]) {
    const { fetch, seen } = watched();
    const error = await read(await fetch("/cut", ASK)).catch((error) => error);
    assert.deepEqual([error.constructor, error.message], [native.constructor, native.message]);
    await new Promise(setImmediate);
    assert.equal(seen.told.at(-1), FAILED);
  }
});

test("a request that cannot be made rejects natively and is told as a failure", async () => {
  const { tap, seen } = watched();
  const fetch = tap.wrap(async () => {
    throw new TypeError("fetch failed");
  });
  await assert.rejects(fetch("http://localhost/", ASK), new TypeError("fetch failed"));
  assert.deepEqual(seen.told, [OPEN, FAILED]);
});

const STOPS = {
  "reader.cancel()": async (body) => {
    const reader = body.getReader();
    await reader.read();
    await reader.cancel();
  },
  "reader.cancel() while a read is pending": async (body) => {
    const reader = body.getReader();
    await reader.read();
    const pending = reader.read();
    await reader.cancel();
    assert.deepEqual(await pending, { done: true, value: undefined });
  },
  break: async (body) => {
    for await (const chunk of body) if (chunk) break;
  },
  "body.cancel()": (body) => body.cancel(),
  "cancel of both branches of a tee": async (body) => {
    const branches = body.tee();
    await Promise.all(branches.map((branch) => branch.cancel()));
  },
  "cancel through a pipe": async (body) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    await reader.read();
    await reader.cancel();
  },
};

for (const [way, stop] of Object.entries(STOPS))
  test(`${way} closes the server's connection, and is told as the app's doing`, async () => {
    const { fetch, seen } = watched();
    const { body } = await fetch("/endless", ASK);
    await stop(body);
    await gone;
    await new Promise(setImmediate);
    assert.equal(seen.told.at(-1), CANCELLED);
  });

test("a body that has branches is known as one", async () => {
  const branching = { clone: (response) => response.clone().text(), tee: ({ body }) => body.tee(), neither: () => {} };
  for (const [way, branch] of Object.entries(branching)) {
    const { fetch, seen } = watched();
    const response = await fetch("/sse", ASK);
    branch(response);
    if (!response.body.locked) await response.text();
    const [{ bodies }] = seen.streams;
    assert.equal(bodies > 1, way != "neither", way);
  }
});

test("one cancelled branch of two ends nothing", async () => {
  const { fetch, seen } = watched();
  const [one, two] = (await fetch("/sse", ASK)).body.tee();
  one.cancel();
  assert.equal(await readAll(two.getReader()), TEXT);
  assert.equal(seen.text, TEXT);
  assert.equal(seen.told.at(-1), CLOSED);
});

test("an abort's reason reaches the app as it was, by every way of reading", async () => {
  const ways = [(r) => readAll(r.body.getReader()), (r) => r.text(), WAYS.iteration, WAYS.pipeThrough, WAYS.pipeTo];
  for (const read of ways) {
    const { fetch, seen } = watched();
    const controller = new AbortController();
    const response = await fetch("/endless", { ...ASK, signal: controller.signal });
    const result = read(response).catch((error) => error);
    const reason = new Error("enough");
    controller.abort(reason);
    assert.equal(await result, reason);
    await gone;
    await new Promise(setImmediate);
    assert.equal(seen.told.at(-1), FAILED);
    assert.equal(seen.values.at(-1), reason);
  }
});

test("locks and used bodies refuse as they do natively, and that ends nothing", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/sse", ASK);
  const reader = response.body.getReader();
  assert.throws(() => response.body.getReader(), TypeError);
  assert.throws(() => response.body.tee(), TypeError);
  assert.throws(() => response.clone(), TypeError);
  assert.throws(() => response.body.pipeThrough(new TextDecoderStream()), TypeError);
  await assert.rejects(response.body.pipeTo(new WritableStream()), TypeError);
  await assert.rejects(response.body.cancel(), TypeError);
  await assert.rejects(response.text(), TypeError);
  reader.releaseLock();
  await assert.rejects(reader.read(), TypeError);
  assert.equal(await readAll(response.body.getReader()), TEXT);
  await assert.rejects(response.text(), TypeError);
  assert.equal(names(seen.told), "OPEN HEADERS READ CHUNK CLOSED");
});

/** A watched response whose body has ended before anybody reads. */
function endedResponse() {
  const native = async () => new Response(TEXT, { headers: { "content-type": "text/event-stream" } });
  return createTap(() => {}).wrap(native)("http://localhost/");
}

test("a body that ended before it is read is piped whole, and let go", async () => {
  const through = await endedResponse();
  assert.equal(await readAll(through.body.pipeThrough(new TextDecoderStream()).getReader()), TEXT);
  const { body } = await endedResponse();
  let text = "";
  const decoder = new TextDecoder();
  await body.pipeTo(new WritableStream({ write: (chunk) => void (text += decoder.decode(chunk)) }));
  assert.deepEqual([text, body.locked, through.body.locked], [TEXT, false, false]);
});

test("a pipe that is refused leaves the body as it was", async () => {
  const { body } = await endedResponse();
  assert.throws(() => body.pipeThrough({}), TypeError);
  await assert.rejects(body.pipeTo({}), TypeError);
  assert.equal(body.locked, false);
  const piped = body.pipeTo(new WritableStream({ write: () => new Promise(setImmediate) }));
  await assert.rejects(body.pipeTo(new WritableStream()), TypeError);
  assert.equal(body.locked, true);
  await piped;
});

test("methods keep their names and lengths", async () => {
  const { body } = await endedResponse();
  const { name, length } = ReadableStream.prototype.pipeTo;
  assert.deepEqual([body.pipeTo.name, body.pipeTo.length], [name, length]);
});

test("a rejection that the app does not handle stays unhandled, once", async () => {
  // In a process of its own: this one's runner takes unhandled rejections for failed tests.
  const script = `
    import { createTap } from ${JSON.stringify(new URL("../js/tap.js", import.meta.url).href)};
    let count = 0;
    process.on("unhandledRejection", () => count++);
    process.on("exit", () => console.log(count));
    const fetch = process.argv[1] == "tapped" ? createTap(() => {}).wrap(globalThis.fetch) : globalThis.fetch;
    const reader = (await fetch("${origin}/cut")).body.getReader();
    await reader.read();
    reader.read();`;
  const run = promisify(execFile);
  const counts = await Promise.all(
    ["native", "tapped"].map((how) => run(process.execPath, ["--input-type=module", "-e", script, how])),
  );
  assert.deepEqual(counts.map(({ stdout }) => stdout), ["1\n", "1\n"]);
});

test("a response that an inner wrapper watches is told once", async () => {
  const { tap, seen } = watched();
  const twice = tap.wrap(tap.wrap(globalThis.fetch));
  assert.equal(await readAll((await twice(`${origin}/sse`)).body.getReader()), TEXT);
  assert.deepEqual(seen.told, [OPEN, HEADERS, READ, CHUNK, CLOSED]);
  assert.equal(seen.streams.size, 1);
});

test("a fault of the sink turns the tap off, and the app does not notice", async () => {
  let calls = 0;
  const tap = createTap(() => {
    calls++;
    throw new Error("ours");
  });
  const response = await tap.wrap(globalThis.fetch)(`${origin}/sse`, ASK);
  assert.equal(await readAll(response.body.getReader()), TEXT);
  assert.deepEqual([calls, tap.faults], [1, 1]);
});

test("what an unread body keeps back is kept back", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/endless", ASK);
  await new Promise(setImmediate);
  assert.deepEqual(seen.told, [OPEN, HEADERS]);
  await response.body.cancel();
});
