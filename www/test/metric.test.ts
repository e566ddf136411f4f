import { expect, it } from "vitest";

import { leadMetric, targetsOf } from "../src/metric";

it("first-token targets apply to the first visible token", () => {
  const targets = { ttft_p95_ms: 2000, tpot_ms: 80 };
  expect(targetsOf("ttfv", targets)).toEqual([{ quantile: "p95", value: 2000 }]);
  expect(targetsOf("ttft", targets)).toEqual([]);
  expect(targetsOf("tpot", targets)).toEqual([{ quantile: null, value: 80 }]);
});

it("the end leads only if all use cases have targets for it", () => {
  const lead = (...metrics: string[]) => leadMetric({ by_use_case: metrics.map((metric) => ({ metric })) as never });
  expect([lead(), lead("ttfv"), lead("ttfv", "e2e")]).toEqual(["ttfv", "ttfv", "ttfv"]);
  expect([lead("e2e"), lead("e2e", "e2e")]).toEqual(["e2e", "e2e"]);
});
