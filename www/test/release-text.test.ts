import { expect, it } from "vitest";

import { differenceText, isBetter, signedDuration, signedPoints } from "../src/panels/release-text";

it("shows no difference if the interval includes zero", () => {
  for (const difference of [undefined, null, { lower: -1, upper: 1 }, { lower: 0, upper: 5 }]) {
    expect(differenceText(difference, String)).toBeNull();
    expect(isBetter(difference, true)).toBeUndefined();
  }
});

it("shows both ends with their sign", () => {
  const text = (lower: number, upper: number, format: (value: number) => string) =>
    differenceText({ lower, upper }, format)?.replaceAll("\u00a0", " ");
  expect(text(120, 180, signedDuration)).toBe("+120 ms to +180 ms");
  expect(text(-1800, -20, signedDuration)).toBe("−1.8 s to −20 ms");
  expect(text(-0.05, -0.014, signedPoints)).toBe("−5.0 pp to −1.4 pp");
  expect(isBetter({ lower: 120, upper: 180 }, false)).toBe(false);
  expect(isBetter({ lower: 0.1, upper: 0.2 }, true)).toBe(true);
});
