import { expect, it } from "vitest";

import { isolatedPoints, plotColumns } from "../src/charts/plot-columns";

const scale = "log";
const times = [0, 60_000, 120_000, 180_000];

it("dashes connect low-sample points with the solid line", () => {
  const isLowSample = [false, false, true, false];
  const [seconds, solid, thin] = plotColumns({ scale, times, isLowSample, lines: [{ values: [10, 20, 30, 40] }] });
  expect(seconds).toEqual([0, 60, 120, 180]);
  expect(solid).toEqual([10, 20, null, 40]);
  expect(thin).toEqual([null, 20, 30, 40]);
});

it("bars come first, with the unfinished step apart", () => {
  const volume = { streams: [1, 2, 3, 4], errors: [0, 0, 1, 0], isRunning: true };
  const isLowSample = times.map(() => false);
  const all = plotColumns({ scale, times, isLowSample, volume, lines: [{ values: [1, 1, 1, 1] }, { values: [2, 2, 2, 2] }] });
  expect(all).toHaveLength(1 + 3 + 2 * 2);
  expect(all.slice(1, 4)).toEqual([[1, 2, 3, null], [null, null, null, 4], volume.errors]);
  const past = { ...volume, isRunning: false };
  const [, finished] = plotColumns({ scale, times, isLowSample, volume: past, lines: [] });
  expect(finished).toEqual([1, 2, 3, 4]);
});

it("a step without its streams has no bar", () => {
  const volume = { streams: [null, 0, 3, 4], errors: [null, 0, 1, 0], isRunning: true };
  const [, finished, , errors] = plotColumns({ scale, times, isLowSample: [], volume, lines: [] });
  expect(finished).toEqual([null, 0, 3, null]);
  expect(errors).toEqual([null, 0, 1, 0]);
});

it("a line can have few samples at times of its own", () => {
  const line = { values: [1, 2, 3, 4], isLowSample: [true, false, false, false] };
  const [, solid] = plotColumns({ scale, times, isLowSample: [false, false, true, false], lines: [line] });
  expect(solid).toEqual([null, 2, 3, 4]);
});

it("zero is drawn at the minimum of a log axis", () => {
  const isLowSample = [false, false, false, false];
  const [, solid] = plotColumns({ scale, times, isLowSample, lines: [{ values: [0, null, 0.05, 3] }] });
  expect(solid).toEqual([0.1, null, 0.1, 3]);
  const [, linear] = plotColumns({ scale: "linear", times, isLowSample, lines: [{ values: [0, null, 0.05, 3] }] });
  expect(linear).toEqual([0, null, 0.05, 3]);
});

it("a point without neighbours is isolated", () => {
  expect(isolatedPoints([5, null, 6, 7, null, 8])).toEqual([0, 5]);
  expect(isolatedPoints([])).toEqual([]);
});
