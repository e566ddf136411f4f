import { expect, it } from "vitest";

import { cachePoints } from "../src/panels/engine-lines";

const at = { timestamp_ms: 60_000 };

it("a share needs both of its counts and a whole above zero", () => {
  const both = { ...at, cache_hits: 30, cache_queries: 40, drafted: 10, accepted: 7, kv_usage_max: 0.4 };
  expect(cachePoints([both])).toEqual([{ ...at, kv: 0.4, hits: 0.75, accepted: 0.7 }]);
  const none = { ...at, cache_hits: 0, cache_queries: 0, drafted: 10, accepted: null };
  expect(cachePoints([none])).toEqual([{ ...at, kv: undefined, hits: null, accepted: null }]);
});
