import { afterEach, beforeEach, expect, it, vi } from "vitest";

import { timeLabel, timeTicks } from "../src/charts/ticks";
import { dateTime, timeInterval, timeOfDay, timeRange } from "../src/format";
import { calendarTime, inputValue, isSameDay, parseInput, timeZone, unixTime } from "../src/time-zone";

const plain = (text: string) => text.replaceAll("\u00a0", " ");
const HOUR = 3_600_000;
/** In Tokyo it is half past eight on the next day. */
const EVENING = Date.UTC(2026, 10, 25, 23, 30);

beforeEach(() => {
  vi.stubEnv("TZ", "Asia/Tokyo");
});

afterEach(() => {
  timeZone.value = "local";
  vi.unstubAllEnvs();
});

it("all texts follow the chosen time zone", () => {
  const texts = () => [
    timeOfDay(EVENING),
    plain(dateTime(EVENING, EVENING - 24 * HOUR)),
    plain(timeInterval(EVENING, HOUR, EVENING - 24 * HOUR)),
    timeLabel(EVENING, HOUR),
  ];
  expect(texts()).toEqual(["08:30:00", "26 Nov 08:30", "26 Nov, 08:30 – 09:30", "08:30"]);
  timeZone.value = "utc";
  expect(texts()).toEqual(["23:30:00", "25 Nov 23:30", "25 Nov, 23:30 – 00:30", "23:30"]);
});

it("days begin at midnight of the chosen time zone", () => {
  expect(isSameDay(EVENING, EVENING + HOUR)).toBe(true);
  timeZone.value = "utc";
  expect(isSameDay(EVENING, EVENING + HOUR)).toBe(false);
  const { ticks } = timeTicks(EVENING, EVENING + 48 * HOUR, 3);
  expect(ticks).toEqual([Date.UTC(2026, 10, 26), Date.UTC(2026, 10, 27)]);
});

it("a time survives the calendar and the input", () => {
  for (const zone of ["local", "utc"] as const) {
    timeZone.value = zone;
    const { hours, minutes, ...date } = calendarTime(EVENING);
    expect(unixTime(date, 3600 * hours + 60 * minutes), zone).toBe(EVENING);
    expect(parseInput(inputValue(EVENING)), zone).toBe(EVENING);
  }
  expect(inputValue(EVENING)).toBe("2026-11-25T23:30");
  expect(parseInput("")).toBeNaN();
});

it("a range names each day once, and today never", () => {
  timeZone.value = "utc";
  const range = (hours: number, today: number) =>
    plain(timeRange({ from: EVENING, to: EVENING + hours * HOUR }, today));
  expect(range(0.25, EVENING)).toBe("23:30 – 23:45");
  expect(range(0.25, EVENING + 24 * HOUR)).toBe("25 Nov 23:30 – 23:45");
  expect(range(2, EVENING)).toBe("25 Nov 23:30 – 26 Nov 01:30");
});
