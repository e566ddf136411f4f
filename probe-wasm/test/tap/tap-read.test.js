// Reading through the tap: the app gets every byte as without it, and the sink gets each byte once.

import assert from "node:assert/strict";
import { test } from "node:test";

import { CLOSED } from "../../js/tap/tap-events.js";
import { ASK, TEXT, WAYS, endedResponse, names, readAll, watched } from "./watched-fetch.js";

for (const [way, read] of Object.entries(WAYS))
  test(`${way} gives every byte to the app, and to the tap once`, async () => {
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
  test(`${method}() reports the full body at its end`, async () => {
    const { fetch, seen } = watched();
    const value = await (await fetch("/sse", ASK))[method]();
    assert.equal(await text(value), TEXT);
    assert.equal(seen.values.at(-1), value);
    assert.equal(names(seen.told), "OPEN HEADERS READ WHOLE");
  });

test("a body with branches is distinguished from a single one", async () => {
  const branching = { clone: (response) => response.clone().text(), tee: ({ body }) => body.tee(), neither: () => {} };
  for (const [way, branch] of Object.entries(branching)) {
    const { fetch, seen } = watched();
    const response = await fetch("/sse", ASK);
    branch(response);
    if (!response.body.locked) await response.text();
    const [{ bodies_ }] = seen.streams;
    assert.equal(bodies_, way == "neither" ? 1 : 2, way);
  }
});

/** The states of a copy that was read in part, before the original is read whole. */
const LEFT_OFF = {
  "left as it is": () => {},
  cancelled: (reader) => void reader.cancel(),
  "let go and cancelled": (reader, { body }) => {
    reader.releaseLock();
    void body.cancel();
  },
};

for (const [way, leave] of Object.entries(LEFT_OFF))
  test(`a full read beside a copy, ${way}, is reported`, async () => {
    const { fetch, seen } = watched();
    const response = await fetch("/sse", ASK);
    const copy = response.clone();
    const reader = copy.body.getReader();
    await reader.read();
    leave(reader, copy);
    assert.equal(await response.text(), TEXT);
    assert.equal(names(seen.told), "OPEN HEADERS READ CHUNK WHOLE");
    assert.equal(seen.values.at(-1), TEXT);
  });

test("a full read beside a cancelled copy is reported", async () => {
  const { fetch, seen } = watched();
  const response = await fetch("/sse", ASK);
  void response.clone().body.cancel();
  assert.equal(await response.text(), TEXT);
  assert.equal(names(seen.told), "OPEN HEADERS READ WHOLE");
});

test("a cancelled branch does not end the stream", async () => {
  const { fetch, seen } = watched();
  const [one, two] = (await fetch("/sse", ASK)).body.tee();
  one.cancel();
  assert.equal(await readAll(two.getReader()), TEXT);
  assert.equal(seen.text, TEXT);
  assert.equal(seen.told.at(-1), CLOSED);
});

test("a body that ended before its read is piped and unlocked", async () => {
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
