// The session without Wasm: what can be told from chunks and their times, and what cannot.

import assert from "node:assert/strict";
import { test } from "node:test";

import { createChunkSession } from "../js/chunks.js";
import { CANCELLED, CLOSED, FAILED, PAGE_GONE, TIMED_OUT, UNSEEN } from "../js/ends.js";

const ID = "0".repeat(32);

function begun(status = 200) {
  const session = createChunkSession({ useCase: "chat", release: "1.2" });
  session.open(1, ID, 100, 90, "m");
  session.headers(1, 140, status);
  return session;
}

test("a stream's report has chunk times, and says that it has no more", () => {
  const session = begun();
  session.read(1);
  session.chunk(1, 150, new Uint8Array(5));
  session.chunk(1, 160, new Uint8Array(3));
  assert.deepEqual(JSON.parse(session.end(1, 170, CLOSED)), {
    v: 1,
    id: ID,
    rev: 0,
    use_case: "chat",
    observed: "chunks",
    model: "m",
    status: 200,
    outcome: "unobserved",
    submit_delay_ms: 10,
    headers_ms: 40,
    first_byte_ms: 50,
    close_ms: 70,
    chunks: 2,
    events: 0,
    deltas: 0,
    bytes: 8,
    page: { release: "1.2" },
  });
});

test("an outcome is told only where chunks show it", () => {
  const cases = [
    [FAILED, "network_error"],
    [CANCELLED, "aborted"],
    [TIMED_OUT, "timeout"],
    [PAGE_GONE, "abandoned"],
    [UNSEEN, "unobserved"],
    [CLOSED, "empty"],
  ];
  for (const [how, outcome] of cases) {
    const session = begun();
    session.read(1);
    assert.equal(JSON.parse(session.end(1, 200, how)).outcome, outcome);
  }
  assert.equal(JSON.parse(begun(429).end(1, 200, CLOSED)).outcome, "http_error");
  assert.equal(JSON.parse(begun().end(1, 200, PAGE_GONE)).outcome, "unobserved");
});

test("what failed goes again, what arrived does not", () => {
  const session = begun();
  session.end(1, 200, CANCELLED);
  session.hurry();
  const first = session.batch();
  assert.equal(session.batch(), undefined);
  session.answered(0, 0);
  assert.ok(session.due_in() > 0);
  session.hurry();
  assert.equal(session.batch(), first);
  session.answered(204, 0);
  assert.equal(session.due_in(), undefined);
});

test("a page that may go away tells open streams as open, with a revision each time", () => {
  const session = begun();
  session.lost_early(2);
  const told = () => (session.hurry(), JSON.parse(session.last_words()).reports[0]);
  const [first, second] = [told(), told()];
  assert.deepEqual([first.open, first.rev, first.dropped], [true, 0, { early: 2 }]);
  assert.deepEqual([second.open, second.rev, second.dropped], [true, 1, undefined]);
  assert.equal(session.last_words(), undefined);
});
