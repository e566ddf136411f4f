import { expect, it } from "vitest";

import { targetsOf } from "../src/metric";

it("first-token targets apply to the first visible token", () => {
  const targets = { ttft_p95_ms: 2000, tpot_ms: 80 };
  expect(targetsOf("ttfv", targets)).toEqual([{ quantile: "p95", value: 2000 }]);
  expect(targetsOf("ttft", targets)).toEqual([]);
  expect(targetsOf("tpot", targets)).toEqual([{ quantile: null, value: 80 }]);
});
