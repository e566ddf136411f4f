// Visits: one number for all reports of a tab, drawn and stored when the first report is sent.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { visits } from "../../js/extensions/visits.js";

let stored;

beforeEach(() => {
  stored = globalThis.sessionStorage = {};
});

/** The number in a report of a new page. `goes`: the report is sent. */
function visitOf(page = visits()({}), goes = true) {
  const report = {};
  page.addFields(report, {}, goes);
  return report.visit;
}

test("all pages of a tab have the same number", () => {
  const page = visits()({});
  const number = visitOf(page);
  assert.match(number, /^[0-9a-f]{1,16}$/);
  assert.equal(visitOf(page), number);
  assert.equal(visitOf(), number);
});

test("what another script stored under the name is replaced", () => {
  for (const other of ["", "Ada Lovelace", "0123456789abcdef0", "{}"]) {
    stored.llmRumVisit = other;
    assert.match(visitOf(), /^[0-9a-f]{1,16}$/);
  }
});

test("another tab has another number", () => {
  const number = visitOf();
  globalThis.sessionStorage = {};
  assert.notEqual(visitOf(), number);
});

test("a report that is not sent has no number, and none is stored", () => {
  assert.equal(visitOf(visits()({}), false), undefined);
  assert.deepEqual(stored, {});
});

test("a page that may not store anything keeps its number", () => {
  Object.defineProperty(globalThis, "sessionStorage", {
    configurable: true,
    get() {
      throw new DOMException("denied", "SecurityError");
    },
    set(value) {
      Object.defineProperty(globalThis, "sessionStorage", { configurable: true, writable: true, value });
    },
  });
  const page = visits()({});
  const number = visitOf(page);
  assert.match(number, /^[0-9a-f]{1,16}$/);
  assert.equal(visitOf(page), number);
});
