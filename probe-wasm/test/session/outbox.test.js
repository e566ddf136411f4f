// The outbox: bounds, retries, and the count of dropped reports.

import assert from "node:assert/strict";
import { test } from "node:test";

import { DELAY_MS, MAX_BODY_BYTES, MAX_WAITING, createOutbox } from "../../js/session/outbox.js";

const nothing = () => {};
const report = (fields) => () => JSON.stringify(fields);

function filled(count) {
  const outbox = createOutbox();
  for (let id = 0; id < count; id++) outbox.push(report({ id }), 0);
  return outbox;
}

/** Sends the body that is due at `now`. Returns its ids and its drops. */
function send(outbox, now, fill = nothing) {
  if (outbox.next(Infinity) > now) return [[]];
  const body = outbox.body(false, fill);
  assert.ok(Buffer.byteLength(body) <= MAX_BODY_BYTES + MAX_WAITING + 100);
  const { reports } = JSON.parse(body);
  assert.ok(reports.slice(1).every(({ dropped }) => !dropped));
  return [reports.map(({ id }) => id), reports[0].dropped];
}

test("reports of one second share a body", () => {
  const outbox = filled(1);
  outbox.push(report({ id: 1 }), 900);
  assert.equal(outbox.next(Infinity), DELAY_MS);
  assert.deepEqual(send(outbox, DELAY_MS), [[0, 1], undefined]);
  assert.equal(outbox.next(0), Infinity, "an answer is awaited");
});

test("a body stays below the keepalive budget in bytes", () => {
  const outbox = createOutbox();
  for (let id = 0; id < MAX_WAITING; id++) outbox.push(report({ id, model: "é".repeat(400) }), 0);
  let seen = 0;
  while (seen < MAX_WAITING) {
    const [ids] = send(outbox, DELAY_MS);
    assert.ok(ids.length > 0);
    seen += ids.length;
    outbox.answered(204, 0, DELAY_MS, 0.5);
  }
  assert.equal(outbox.next(Infinity), Infinity);
});

test("added reports must fit into the body", () => {
  const outbox = createOutbox();
  const added = [];
  const large = report({ text: "x".repeat(MAX_BODY_BYTES / 2) });
  outbox.body(true, (add) => added.push(!!add(large), !!add(large), !!add(report({ id: 1 }))));
  assert.deepEqual(added, [true, false, true]);
  assert.equal(outbox.body(true, nothing), undefined);
});

test("a full queue reports its drops until they are acknowledged", () => {
  const outbox = filled(MAX_WAITING + 3);
  assert.deepEqual(send(outbox, DELAY_MS)[1], { queue_full: 3 });
  outbox.answered(0, 0, DELAY_MS, 0.5);
  outbox.drop("early", 2);
  assert.deepEqual(send(outbox, 10_000)[1], { early: 2, queue_full: 3 });
  outbox.answered(204, 0, 10_000, 0.5);
  send(outbox, 10_000);
  outbox.answered(204, 0, 10_000, 0.5);
  outbox.push(report({ id: 1 }), 10_000);
  assert.deepEqual(send(outbox, 20_000), [[1], undefined]);
});

test("a failure is tried again ever later, and then counted", () => {
  const outbox = filled(1);
  let now = DELAY_MS;
  for (const pause of [1000, 2000, 4000, 8000]) {
    assert.deepEqual(send(outbox, now)[0], [0]);
    outbox.answered(0, 0, now, 0.5);
    assert.equal(outbox.next(Infinity), now + pause);
    now += pause;
  }
  send(outbox, now);
  outbox.answered(500, 0, now, 0.5);
  assert.equal(outbox.next(Infinity), Infinity);
  outbox.push(report({ id: 1 }), now);
  assert.deepEqual(send(outbox, now + DELAY_MS), [[1], { send_failed: 1 }]);
});

test("a busy collector sets the time of the next attempt", () => {
  for (const status of [429, 503]) {
    const outbox = filled(1);
    send(outbox, DELAY_MS);
    outbox.answered(status, 30_000, DELAY_MS, 0.5);
    assert.equal(outbox.next(Infinity), DELAY_MS + 30_000);
    send(outbox, DELAY_MS + 30_000);
    outbox.answered(status, 1e9, 0, 0.5);
    assert.equal(outbox.next(Infinity), 600_000);
  }
});

test("a refused report does not drop the others of its body", () => {
  const outbox = filled(3);
  assert.equal(send(outbox, DELAY_MS)[0].length, 3);
  outbox.answered(400, 0, DELAY_MS, 0.5);
  const told = [];
  for (const [id, status] of [[0, 204], [1, 400], [2, 204]]) {
    const [ids, dropped] = send(outbox, DELAY_MS);
    assert.deepEqual(ids, [id]);
    told.push(dropped);
    outbox.answered(status, 0, DELAY_MS, 0.5);
  }
  assert.deepEqual(told, [undefined, undefined, { refused: 1 }]);
  assert.equal(outbox.next(Infinity), Infinity);
});

test("a body has no more reports than the collector takes in one", () => {
  const outbox = filled(150);
  assert.equal(send(outbox, DELAY_MS)[0].length, 100);
  const { reports } = JSON.parse(outbox.body(true, (add) => Array.from(Array(70), () => add(report({ id: 1 })))));
  assert.equal(reports.length, 100);
});

test("delays by a busy collector use up no attempts", () => {
  const outbox = filled(1);
  let now = DELAY_MS;
  for (const status of [503, 503, 503, 503, 503, 0, 0, 0, 0]) {
    assert.deepEqual(send(outbox, now)[0], [0], `before ${status}`);
    outbox.answered(status, 0, now, 0.5);
    now = outbox.next(Infinity);
  }
  assert.deepEqual(send(outbox, now)[0], [0]);
  outbox.answered(0, 0, now, 0.5);
  assert.equal(outbox.next(Infinity), Infinity);
});

test("a refused open report does not drop ended ones", () => {
  const outbox = filled(1);
  const open = (add) => add(report({ id: "open" }));
  assert.deepEqual(send(outbox, DELAY_MS, open)[0], [0, "open"]);
  outbox.answered(400, 0, DELAY_MS, 0.5);
  assert.deepEqual(send(outbox, DELAY_MS, open), [[0], undefined]);
  outbox.answered(204, 0, DELAY_MS, 0.5);
  assert.equal(outbox.next(Infinity), Infinity);
});

test("reports sent on leave stay queued while sending fails", () => {
  const leave = (outbox, blindly) => {
    const bodies = [];
    for (let body; (body = outbox.body(blindly, nothing)); ) bodies.push(JSON.parse(body).reports.map(({ id }) => id));
    return bodies;
  };
  const arrives = filled(150);
  assert.deepEqual(leave(arrives, 1).map((ids) => ids.length), [100, 50]);
  assert.equal(arrives.next(Infinity), Infinity, "nothing is known to be wrong");
  const offline = filled(150);
  assert.deepEqual(leave(offline, 2).map((ids) => ids.length), [100, 50]);
  assert.deepEqual(send(offline, 0)[0].length, 100, "the page is seen again");
  const busy = filled(1);
  send(busy, DELAY_MS);
  busy.answered(503, 30_000, DELAY_MS, 0.5);
  assert.deepEqual(leave(busy, 1), [[0]]);
  assert.equal(busy.next(Infinity), DELAY_MS + 30_000, "no sooner than the collector asked for");
  assert.deepEqual(send(busy, DELAY_MS + 30_000)[0], [0]);
});
