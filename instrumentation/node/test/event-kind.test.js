import assert from "node:assert/strict";
import { test } from "node:test";

import * as rules from "../src/event-kind.js";
import { contract } from "./contract.js";

test("the lists of types and fields are those of the contract", () => {
  assert.deepEqual([...rules.END_TYPES], contract.end_types);
  assert.deepEqual([...rules.NO_TEXT_TYPES], contract.no_text_types);
  assert.deepEqual([...rules.DELTA_PREFIXES], contract.delta_prefixes);
  assert.deepEqual([...rules.TEXT_PARTS], contract.text_parts);
  assert.deepEqual([...rules.SILENT_FIELDS], contract.silent_fields);
});
