import { expect, it } from "vitest";

import type { StreamReport } from "../src/api/api-types";
import { fieldsOf } from "../src/stream/fields";

const NOTHING = { chunks: 0, events: 0, deltas: 0, bytes: 0, received_ms: 0 };
const REPORT: StreamReport = { ...NOTHING, v: 1, id: "0", outcome: "empty", site: "demo", country: "unknown" };
const TITLE = "Attributes of the app";

it("names the attributes of the app, each with its filter", () => {
  const group = fieldsOf({ ...REPORT, attributes: { plan: "pro", release: "beta" } }).find(({ title }) => title === TITLE);
  expect(group?.entries).toEqual([
    { name: "plan", text: "pro", dimension: "attribute.plan" },
    { name: "release (attribute)", text: "beta", dimension: "attribute.release" },
  ]);
});

it("has no group of attributes without one", () => {
  expect(fieldsOf(REPORT).map(({ title }) => title)).not.toContain(TITLE);
});
