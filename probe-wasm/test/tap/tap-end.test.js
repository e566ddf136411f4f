// How streams end under the tap: failures, aborts and cancels reach app and server as without it.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

import { CANCELLED, FAILED, OPEN } from "../../js/tap/tap-events.js";
import { createTap } from "../../js/tap/tap.js";
import { ASK, TEXT, WAYS, gone, names, origin, readAll, watched } from "./watched-fetch.js";

test("a cut body fails natively and is reported as a failure", async () => {
  const native = await (await globalThis.fetch(`${origin}/cut`)).text().catch((error) => error);
  for (const read of [(r) => readAll(r.body.getReader()), (r) => r.text(), WAYS.iteration, WAYS.pipeThrough]) {
    const { fetch, seen } = watched();
    const error = await read(await fetch("/cut", ASK)).catch((error) => error);
    assert.deepEqual([error.constructor, error.message], [native.constructor, native.message]);
    await new Promise(setImmediate);
    assert.equal(seen.told.at(-1), FAILED);
  }
});

test("a failed request rejects natively and is reported as failed", async () => {
  const { tap, seen } = watched();
  const fetch = tap.wrap_(async () => {
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
  test(`${way} closes the connection and is reported as a cancel`, async () => {
    const { fetch, seen } = watched();
    const { body } = await fetch("/endless", ASK);
    await stop(body);
    await gone;
    await new Promise(setImmediate);
    assert.equal(seen.told.at(-1), CANCELLED);
  });

test("the reason of an abort reaches the app by every way to read", async () => {
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

test("locked and used bodies refuse natively, and no stream ends", async () => {
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

test("a partly read body refuses text() and can be read to its end", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/sse", ASK);
  const reader = response.body.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  for (const method of ["text", "json", "arrayBuffer", "blob"]) await assert.rejects(response[method](), TypeError);
  assert.throws(() => response.clone(), TypeError);
  assert.equal(names(seen.told), "OPEN HEADERS READ CHUNK");
  assert.equal(new TextDecoder().decode(value) + (await readAll(response.body.getReader())), TEXT);
  assert.equal(names(seen.told), "OPEN HEADERS READ CHUNK CLOSED");
});

test("a second full read is refused, and the first one succeeds", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/sse", ASK);
  const text = response.text();
  await assert.rejects(response.json(), TypeError);
  assert.equal(await text, TEXT);
  assert.equal(names(seen.told), "OPEN HEADERS READ WHOLE");
});

test("an unhandled rejection stays unhandled, once", async () => {
  // In another process: the test runner counts unhandled rejections as failed tests.
  const script = `
    import { createTap } from ${JSON.stringify(new URL("../../js/tap/tap.js", import.meta.url).href)};
    let count = 0;
    process.on("unhandledRejection", () => count++);
    process.on("exit", () => console.log(count));
    const fetch = process.argv[1] == "tapped" ? createTap(() => {}).wrap_(globalThis.fetch) : globalThis.fetch;
    const reader = (await fetch("${origin}/cut")).body.getReader();
    await reader.read();
    reader.read();`;
  const run = promisify(execFile);
  const counts = await Promise.all(
    ["native", "tapped"].map((how) => run(process.execPath, ["--input-type=module", "-e", script, how])),
  );
  assert.deepEqual(counts.map(({ stdout }) => stdout), ["1\n", "1\n"]);
});
