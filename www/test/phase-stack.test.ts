import { expect, it } from "vitest";

import type { Phases } from "../src/api/schemas";
import { longestOf, stackedPhases, stackOf, stacksOf } from "../src/charts/phase-stack";

const phases: Phases = {
  from: 0,
  to: 3_600_000,
  relative_error: 0.01,
  streams: 100,
  ttft: { n: 100, relative_error: 0.01, p50_ms: 600, p95_ms: 3000 },
  phases: [
    { phase: "dns", n: 0 },
    { phase: "server_queue", n: 90, p50_ms: 100, p95_ms: 2500 },
    { phase: "prefill", n: 90, p50_ms: 300, p95_ms: 800 },
    { phase: "server", n: 10, p50_ms: 900, p95_ms: 5000 },
    { phase: "network", n: 100, p50_ms: 90, p95_ms: 200 },
    { phase: "main_thread", n: 60, p50_ms: 0, p95_ms: 40 },
  ],
};

it("phases that few streams tell are in no stack", () => {
  const names = stackedPhases(phases.phases).map(({ phase }) => phase);
  expect(names).toEqual(["server_queue", "prefill", "network", "main_thread"]);
});

it("a stack has the percentiles of its phases and the whole wait", () => {
  const [p50, p95] = stacksOf(phases);
  expect(p50?.parts.map(({ ms }) => ms)).toEqual([100, 300, 90]);
  expect(p95?.parts.map(({ ms }) => ms)).toEqual([2500, 800, 200, 40]);
  expect([p50?.wait, p95?.wait]).toEqual([600, 3000]);
  expect(longestOf(stacksOf(phases))).toBe(3540);
});

it("without phases nothing is stacked", () => {
  const stacks = stacksOf({ ...phases, phases: [], ttft: { n: 0, relative_error: 0.01 } });
  expect(stacks.every(({ parts, wait }) => parts.length === 0 && wait === null)).toBe(true);
  expect(longestOf(stacks)).toBe(1);
});

it("the streams around p95 have a bar of means", () => {
  const around = {
    n: 46,
    ttft_mean_ms: 3400,
    parts: [
      { phase: "server_queue", mean_ms: 2100 },
      { phase: "not_reported", mean_ms: 1300 },
    ] as const,
  };
  const stack = stacksOf({ ...phases, around_p95: { ...around, parts: [...around.parts] } }).at(-1);
  expect(stack).toEqual({
    label: "around p95",
    parts: [
      { phase: "server_queue", ms: 2100 },
      { phase: "not_reported", ms: 1300 },
    ],
    wait: 3400,
  });
});

it("a step has a stack of means, or of percentiles", () => {
  const step: Parameters<typeof stackOf>[1] = {
    ttft: { n: 90, p95_ms: 3000 },
    phases: phases.phases.slice(1, 3),
    mean: {
      ttft_mean_ms: 1250,
      parts: [
        { phase: "server_queue", mean_ms: 225 },
        { phase: "not_reported", mean_ms: 1025 },
      ],
    },
  };
  expect(stackOf("10:00", step, "mean")).toEqual({
    label: "10:00",
    parts: [
      { phase: "server_queue", ms: 225 },
      { phase: "not_reported", ms: 1025 },
    ],
    wait: 1250,
  });
  const p95 = stackOf("10:00", step, "p95");
  expect([p95.parts.map(({ ms }) => ms), p95.wait]).toEqual([[2500, 800], 3000]);
});

it("a step whose streams are not kept is empty", () => {
  expect(stackOf("10:00", {}, "mean")).toEqual({ label: "10:00", parts: [], wait: null });
  expect(stackOf("10:00", {}, "p95")).toEqual({ label: "10:00", parts: [], wait: null });
});
