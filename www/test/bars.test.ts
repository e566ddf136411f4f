import { describe, expect, it } from "vitest";

import { placeMarks, type Mark } from "../src/charts/bars";

describe("labels of marks", () => {
  const mark = (value: number): Mark => ({ label: "p50 812 ms", value, tone: "p50", kind: "percentile" });
  const place = (...values: number[]) => placeMarks(values.map(mark), (value) => value, 0, 400);

  it("share a lane without an overlap", () => {
    expect(place(10, 200).map(({ lane }) => lane)).toEqual([0, 0]);
  });

  it("move down where they would overlap", () => {
    expect(place(100, 110, 120).map(({ lane }) => lane)).toEqual([0, 1, 2]);
  });

  it("flip to the left without space at the right", () => {
    expect(place(380)[0]?.flips).toBe(true);
  });
});
