import { expect, it } from "vitest";

import { fixedRange, isRunning, lengthMs, rangeQuery, readFixedRange, zoomedOut } from "../src/api/range";

const MINUTE = 60_000;
const NOON = Date.UTC(2026, 10, 25, 12);

it("fixed times are whole minutes around the given times", () => {
  expect(fixedRange(NOON + 1, NOON + MINUTE + 1)).toEqual({ from: NOON, to: NOON + 2 * MINUTE });
  expect(fixedRange(NOON, NOON + MINUTE)).toEqual({ from: NOON, to: NOON + MINUTE });
  expect(fixedRange(NOON + 1, NOON + 2)).toEqual({ from: NOON, to: NOON + MINUTE });
});

it("times that the collector would refuse are no range", () => {
  const day = 1440 * MINUTE;
  expect(fixedRange(NOON, NOON)).toBeNull();
  expect(fixedRange(NOON, NOON - MINUTE)).toBeNull();
  expect(fixedRange(Number.NaN, NOON)).toBeNull();
  expect(fixedRange(-MINUTE, NOON)).toBeNull();
  expect(fixedRange(NOON - 401 * day, NOON)).toBeNull();
  expect(fixedRange(NOON - 400 * day, NOON)).not.toBeNull();
  expect(readFixedRange("yesterday", String(NOON))).toBeNull();
  expect(readFixedRange(String(NOON), null)).toBeNull();
});

it("a range asks for its preset or for its times", () => {
  expect(rangeQuery("6h")).toEqual({ range: "6h" });
  expect(rangeQuery({ from: 0, to: MINUTE })).toEqual({ from: "0", to: "60000" });
  expect([lengthMs("15m"), lengthMs({ from: 0, to: MINUTE })]).toEqual([15 * MINUTE, MINUTE]);
});

it("only a range up to now is still running", () => {
  expect(isRunning("1h", NOON)).toBe(true);
  expect(isRunning({ from: 0, to: NOON }, NOON)).toBe(false);
  expect(isRunning({ from: 0, to: NOON + MINUTE }, NOON)).toBe(true);
});

it("zooming out doubles the range and ends by now", () => {
  const hour = { from: NOON, to: NOON + 60 * MINUTE };
  expect(zoomedOut(hour, NOON + 900 * MINUTE)).toEqual({ from: NOON - 30 * MINUTE, to: NOON + 90 * MINUTE });
  expect(zoomedOut(hour, NOON + 60 * MINUTE)).toEqual({ from: NOON - 60 * MINUTE, to: NOON + 60 * MINUTE });
  const year = { from: NOON - 399 * 1440 * MINUTE, to: NOON };
  expect(lengthMs(zoomedOut(year, NOON))).toBe(400 * 1440 * MINUTE);
});
