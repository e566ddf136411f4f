import { expect, it, vi } from "vitest";

import type { StreamReport } from "../src/api/api-types";
import { DIMENSIONS } from "../src/api/dimensions";
import { GLOSSARY } from "../src/api/glossary";
import {
  columnsText,
  DEFAULT_COLUMNS,
  DIMENSION_VALUES,
  dimensionValue,
  filtersOfKind,
  METRIC_VALUES,
  readColumns,
  streamColumns,
  toggledColumn,
  type StreamColumn,
} from "../src/api/stream-columns";

const ATTRIBUTES = ["attribute.plan", "attribute.tier"] as const;
const COLUMNS = streamColumns(ATTRIBUTES);
const NOTHING = { chunks: 0, events: 0, deltas: 0, bytes: 0, received_ms: 0 };
const REPORT: StreamReport = { ...NOTHING, v: 1, id: "0", outcome: "empty", site: "demo", country: "unknown" };

it("a column has one name and the default columns are in order", () => {
  expect(new Set(COLUMNS).size).toBe(COLUMNS.length);
  expect(COLUMNS.filter((column) => DEFAULT_COLUMNS.includes(column))).toEqual(DEFAULT_COLUMNS);
});

it("streams of a kind share the app, the model and the browser", () => {
  const page = { release: "2.8.0", browser: "firefox", os: "linux" };
  const filters = filtersOfKind({ ...REPORT, use_case: "chat", response_model: "m-2", page });
  expect(filters).toEqual({
    site: ["demo"],
    use_case: ["chat"],
    model: ["m-2"],
    provider: ["unknown"],
    release: ["2.8.0"],
    route: ["unknown"],
    browser: ["firefox"],
  });
});

it("a dimension is a column unless it is derived or named apart", () => {
  const missing = DIMENSIONS.filter((dimension) => !(dimension in DIMENSION_VALUES));
  expect(missing).toEqual(["prompt_size", "cached", "reasoning", "stream_kind", "outcome", "defect"]);
});

it("a value that the report does not tell is absent", () => {
  const told = Object.entries(DIMENSION_VALUES).filter(([, valueOf]) => valueOf(REPORT) !== undefined);
  expect(told.map(([name]) => name)).toEqual(["model", "site"]);
  expect(DIMENSION_VALUES.model({ ...REPORT, response_model: "m-2026" })).toBe("m-2026");
  expect(dimensionValue({ ...REPORT, attributes: { plan: "pro" } }, "attribute.plan")).toBe("pro");
  expect(dimensionValue(REPORT, "attribute.plan")).toBeUndefined();
  expect(Object.values(METRIC_VALUES).map((valueOf) => valueOf(REPORT))).toEqual(Array(8).fill(undefined));
});

it("a toggled column takes its place in the order", () => {
  const added = toggledColumn(DEFAULT_COLUMNS, "browser") ?? [];
  expect(added.slice(0, 3)).toEqual(["model", "browser", "dialect"]);
  expect(toggledColumn(added, "model")).not.toContain("model");
  expect(toggledColumn(added, "browser")).toBeNull();
  const attributes = toggledColumn(["site", "attribute.tier", "outcome"], "attribute.plan");
  expect(attributes).toEqual(["site", "attribute.plan", "attribute.tier", "outcome"]);
});

it("the address keeps any choice, also that of no column", () => {
  for (const columns of [COLUMNS, ["tpot"], []] as const)
    expect(readColumns(columnsText(columns))).toEqual(columns);
  expect(readColumns("e2e-shoe-attribute.Plan-model")).toEqual(["model", "e2e"]);
  expect([readColumns(null), readColumns("shoe")]).toEqual([null, null]);
});

it("a cell says that a figure is absent, and has no zero for it", async () => {
  vi.stubGlobal("location", { search: "", pathname: "/" });
  const { columnOf } = await import("../src/stream/columns");
  const cell = (id: StreamColumn, report: StreamReport) => columnOf(id).cell(report);
  expect(COLUMNS.map((id) => columnOf(id).id)).toEqual(COLUMNS);
  expect(columnOf("attribute.plan")).toMatchObject({ label: "Plan", meaning: GLOSSARY.attribute });
  expect([cell("tpot", REPORT), cell("output_tokens", REPORT), cell("chunks", REPORT)]).toEqual(["–", "–", "0"]);
  expect(cell("inter_chunk_latency", { ...REPORT, longest_gap_ms: 1500 })).toBe("1.50\u00a0s");
  expect(cell("bytes", { ...REPORT, bytes: 1500 })).toBe("1.5\u00a0kB");
});
