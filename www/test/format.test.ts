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

/** Figures and units are held together by no-break spaces; the cases are easier to read without. */
const plain = (text: string | null) => text?.replaceAll("\u00a0", " ") ?? null;

function check<Input>(format: (value: Input) => string | null, cases: [Input, string | null][]) {
  for (const [value, text] of cases) expect(plain(format(value)), String(value)).toBe(text);
}

describe("durations", () => {
  it("keep three digits and change their unit at the right place", () => {
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

  it("tell zero from almost zero and from absent", () => {
    check(duration, [
      [0, "0 ms"],
      [0.01, "<0.1 ms"],
      [undefined, ABSENT],
      [null, ABSENT],
      [Number.NaN, ABSENT],
    ]);
  });

  it("keep their zeros in columns", () => {
    check(columnDuration, [
      [4000, "4.00 s"],
      [4183, "4.18 s"],
      [740, "740 ms"],
      [0, "0 ms"],
      [null, ABSENT],
    ]);
  });

  it("of one stream keep the tenth that was measured", () => {
    check(exactDuration, [
      [-9.7, "−9.7 ms"],
      [0, "0.0 ms"],
      [1333.3, "1,333.3 ms"],
      [70_613, "70.61 s"],
    ]);
  });

  it("carry a minus sign when one is due", () => {
    check(duration, [[-12.4, "−12.4 ms"]]);
  });
});

describe("shares", () => {
  it("are never rounded to all or nothing", () => {
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

  it("that someone chose are shown as chosen", () => {
    check(configuredPercent, [
      [1 - 0.995, "0.5 %"],
      [1 - 0.999, "0.1 %"],
      [0.1, "10 %"],
      [null, ABSENT],
    ]);
  });
});

describe("changes", () => {
  it("of a duration are told in words", () => {
    const to = (now: number | null) => durationChange(now, 1000);
    check(to, [
      [1120, "12 % slower"],
      [955, "4.5 % faster"],
      [1005, "unchanged"],
      [2500, "2.5× as slow"],
      [null, null],
    ]);
  });

  it("have no answer without an earlier figure", () => {
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

  it("of a count say when it is many times as much", () => {
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

  it("pick the unit of time that reads best", () => {
    check(rate, [
      [2.4, "2.4 per second"],
      [0.36, "21.6 per minute"],
      [0.0045, "16.2 per hour"],
      [0, "0 per second"],
      [undefined, ABSENT],
    ]);
  });
});

describe("times of day", () => {
  const noon = new Date(2026, 10, 20, 12, 40, 5).getTime();
  const yesterday = new Date(2026, 10, 19, 23, 5, 9).getTime();

  it("carry their day when it is another one", () => {
    expect(timeOfDay(noon)).toBe("12:40:05");
    expect(dateTime(noon, noon)).toBe("12:40:05");
    expect(plain(dateTime(yesterday, noon))).toBe("19 Nov 23:05");
  });

  it("of a step name both ends", () => {
    expect(timeInterval(noon, 120_000, noon)).toBe("12:40 – 12:42");
    expect(plain(timeInterval(yesterday, 120_000, noon))).toBe("19 Nov, 23:05 – 23:07");
  });

  it("of a day name the hour that it begins at where that is not midnight here", () => {
    const midnight = new Date(2026, 10, 20).getTime();
    expect(plain(timeInterval(midnight, 86_400_000, noon))).toBe("20 Nov");
    expect(plain(timeInterval(midnight + 19 * 3_600_000, 86_400_000, noon))).toBe("20 Nov 19:00 – 21 Nov 19:00");
  });
});

it("countries have names, and what is none keeps its word", () => {
  expect(["DE", "XK", "unknown", "other", "ZZZ"].map((value) => valueLabel("country", value))).toEqual([
    "Germany",
    "Kosovo",
    "unknown",
    "other",
    "ZZZ",
  ]);
  expect(valueLabel("model", "DE")).toBe("DE");
});
