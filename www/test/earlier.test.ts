import { expect, it } from "vitest";

import { earlierLines, earlierReadout, type EarlierLine } from "../src/charts/earlier";
import { columnDuration } from "../src/format";

const LINES: readonly EarlierLine<"client_p50_ms">[] = [
  { label: "earlier browser p50", key: "client_p50_ms", colour: "earlier-p50" },
];

it("an earlier line has gaps and low samples of its own", () => {
  const [line] = earlierLines([{ n: 40, client_p50_ms: 800 }, { n: 3, client_p50_ms: 90 }, { n: 0 }, {}], LINES);
  expect(line).toMatchObject({ colour: "--earlier-p50", values: [800, 90, null, null] });
  expect(line?.isLowSample).toEqual([false, true, false, false]);
});

it("without a comparison period there is no line and no value", () => {
  expect(earlierLines(null, LINES)).toEqual([]);
  expect(earlierReadout(undefined, LINES, columnDuration)).toEqual([]);
});
