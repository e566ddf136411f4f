// Which frame is told of which answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { paint } from "../js/more/paint.js";

test("in a worker there is nothing to see", () => {
  assert.deepEqual(paint()({ probe: {} }), {});
});
