import { describe, expect, it } from "vitest";

import {
  ABSENT,
  bytes,
  columnDuration,
  configuredPercent,
  countChange,
  dateTime,
  duration,
  durationChange,
  exactDuration,
  percent,
  percentagePoints,
  rate,
  shortCount,
  timeInterval,
  timeOfDay,
  valueLabel,
} from "../src/format";

/** Replaces the no-break spaces between numbers and units. */
const plain = (text: string | null) => text?.replaceAll("\u00a0", " ") ?? null;

function check<Input>(format: (value: Input) => string | null, cases: [Input, string | null][]) {
  for (const [value, text] of cases) expect(plain(format(value)), String(value)).toBe(text);
}

describe("durations", () => {
  it("have three digits and a fitting unit", () => {
    check(duration, [
      [0.1, "0.1 ms"],
      [8.34, "8.34 ms"],
      [85.2, "85.2 ms"],
      [812.1, "812 ms"],
      [999.4, "999 ms"],
      [999.6, "1 s"],
      [1000, "1 s"],
      [1418, "1.42 s"],
      [12_345, "12.3 s"],
      [59_949, "59.9 s"],
      [59_990, "1 min"],
      [125_000, "2 min 5 s"],
      [3_780_000, "1 h 3 min"],
    ]);
  });

  it("distinguish zero, almost zero and absent", () => {
    check(duration, [
      [0, "0 ms"],
      [0.01, "<0.1 ms"],
      [undefined, ABSENT],
      [null, ABSENT],
      [Number.NaN, ABSENT],
    ]);
  });

  it("keep trailing zeros in columns", () => {
    check(columnDuration, [
      [4000, "4.00 s"],
      [4183, "4.18 s"],
      [740, "740 ms"],
      [0, "0 ms"],
      [null, ABSENT],
    ]);
  });

  it("of one stream have one decimal", () => {
    check(exactDuration, [
      [-9.7, "−9.7 ms"],
      [0, "0.0 ms"],
      [1333.3, "1,333.3 ms"],
      [70_613, "70.61 s"],
    ]);
  });

  it("can be negative", () => {
    check(duration, [[-12.4, "−12.4 ms"]]);
  });
});

describe("shares", () => {
  it("round to 0 or 100 % only if exact", () => {
    check(percent, [
      [1, "100 %"],
      [0.99996, ">99.99 %"],
      [0.9995, "99.95 %"],
      [0.947, "94.7 %"],
      [0.0109, "1.1 %"],
      [0.005, "0.50 %"],
      [0.00001, "<0.01 %"],
      [0, "0 %"],
      [undefined, ABSENT],
    ]);
  });

  it("from the configuration keep their digits", () => {
    check(configuredPercent, [
      [1 - 0.995, "0.5 %"],
      [1 - 0.999, "0.1 %"],
      [0.1, "10 %"],
      [null, ABSENT],
    ]);
  });
});

describe("changes", () => {
  it("of a duration are words", () => {
    const to = (now: number | null) => durationChange(now, 1000);
    check(to, [
      [1120, "12 % slower"],
      [955, "4.5 % faster"],
      [1005, "unchanged"],
      [2500, "2.5× as slow"],
      [null, null],
    ]);
  });

  it("need an earlier value", () => {
    expect(durationChange(1000, undefined)).toBeNull();
    expect(durationChange(1000, 0)).toBeNull();
    expect(percentagePoints(0.9, undefined)).toBeNull();
    expect(countChange(12, 0)).toBeNull();
  });

  it("of a share are percentage points", () => {
    check(
      (now: number) => percentagePoints(now, 0.95),
      [
        [0.953, "+0.3 pp"],
        [0.8, "−15 pp"],
        [0.9501, "unchanged"],
      ],
    );
  });

  it("of a count can be multiples", () => {
    check(
      (now: number) => countChange(now, 100),
      [
        [112, "+12 %"],
        [97, "−3 %"],
        [100, "unchanged"],
        [1800, "18× as many"],
      ],
    );
  });
});

describe("amounts", () => {
  it("fit small places", () => {
    check(shortCount, [
      [0, "0"],
      [950, "950"],
      [15_000, "15k"],
      [3_100_000, "3.1M"],
    ]);
    check(bytes, [
      [512, "512 B"],
      [1840, "1.84 kB"],
    ]);
  });

  it("have a fitting unit of time", () => {
    check(rate, [
      [2.4, "2.4/s"],
      [0.36, "21.6/min"],
      [0.0045, "16.2/h"],
      [0, "0/s"],
      [undefined, ABSENT],
    ]);
  });
});

describe("times", () => {
  const noon = new Date(2026, 10, 20, 12, 40, 5).getTime();
  const yesterday = new Date(2026, 10, 19, 23, 5, 9).getTime();

  it("have a date if it is not today", () => {
    expect(timeOfDay(noon)).toBe("12:40:05");
    expect(dateTime(noon, noon)).toBe("12:40:05");
    expect(plain(dateTime(yesterday, noon))).toBe("19 Nov 23:05");
  });

  it("of a step have both ends", () => {
    expect(timeInterval(noon, 120_000, noon)).toBe("12:40 – 12:42");
    expect(plain(timeInterval(yesterday, 120_000, noon))).toBe("19 Nov, 23:05 – 23:07");
  });

  it("of a UTC day have an hour if it is not midnight here", () => {
    const midnight = new Date(2026, 10, 20).getTime();
    expect(plain(timeInterval(midnight, 86_400_000, noon))).toBe("20 Nov");
    expect(plain(timeInterval(midnight + 19 * 3_600_000, 86_400_000, noon))).toBe("20 Nov 19:00 – 21 Nov 19:00");
  });
});

it("countries have names, other values stay", () => {
  expect(["DE", "XK", "unknown", "other", "ZZZ"].map((value) => valueLabel("country", value))).toEqual([
    "Germany",
    "Kosovo",
    "unknown",
    "other",
    "ZZZ",
  ]);
  expect(valueLabel("model", "DE")).toBe("DE");
});
