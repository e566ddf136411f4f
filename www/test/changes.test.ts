import { afterEach, beforeEach, expect, it, vi } from "vitest";

import type { StreamPage, StreamReport } from "../src/api/api-types";
import { completePage, EarlierResponses, requestPage, requestSeries } from "../src/api/changes";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const row = (id: string, received_ms: number, rev?: number) => ({ id, received_ms, rev }) as StreamReport;
const page = (...streams: StreamReport[]): StreamPage => ({ streams, next: "7" });
const MINUTE = 60_000;

/** A collector with a value for each minute, which answers with the points of the hour up to `to`. */
class Collector {
  to = 100 * MINUTE;
  values = new Map<number, number>();
  readonly requested: (string | undefined)[] = [];

  readonly request = async (since?: string) => {
    this.requested.push(since);
    const from = this.to - 60 * MINUTE;
    const all = Array.from({ length: 60 }, (_, i) => this.point(from + i * MINUTE));
    const points = all.filter(({ timestamp_ms }) => timestamp_ms >= Number(since ?? 0));
    return { from, to: this.to, step_ms: MINUTE, points, earlier: points.map(() => ({ n: 0 })) };
  };

  private point(timestamp_ms: number) {
    return { timestamp_ms, n: this.values.get(timestamp_ms) ?? 0 };
  }
}

it("a series is completed from its newest points", async () => {
  const collector = new Collector();
  await requestSeries("a", collector.request);
  collector.values.set(95 * MINUTE, 3);
  const series = await requestSeries("a", collector.request);
  expect(collector.requested).toEqual([undefined, String(90 * MINUTE)]);
  expect(series).toEqual(await collector.request());
});

it("a range that has moved on is requested whole", async () => {
  const collector = new Collector();
  await requestSeries("b", collector.request);
  collector.to += MINUTE;
  expect(await requestSeries("b", collector.request)).toEqual(await collector.request());
});

it("old points are requested again after a minute", async () => {
  const collector = new Collector();
  await requestSeries("c", collector.request);
  collector.values.set(50 * MINUTE, 3);
  vi.advanceTimersByTime(59_000);
  expect((await requestSeries("c", collector.request)).points[10]).toMatchObject({ n: 0 });
  vi.advanceTimersByTime(2_000);
  expect((await requestSeries("c", collector.request)).points[10]).toMatchObject({ n: 3 });
});

it("series of other requests are not mixed", async () => {
  const collector = new Collector();
  await requestSeries("d", collector.request);
  await requestSeries("e", collector.request);
  expect(collector.requested).toEqual([undefined, undefined]);
});

it("a page is completed from the rows on screen", () => {
  const known = page(row("a", 30), row("b", 20, 1), row("c", 10));
  const unchanged = [
    { index: 0, id: "a", rev: 0 },
    { index: 2, id: "b", rev: 1 },
  ];
  const part = { streams: [row("d", 40), row("c", 41, 1)], unchanged, next: null };
  expect(completePage(known, part)).toEqual({
    streams: [row("a", 30), row("d", 40), row("b", 20, 1), row("c", 41, 1)],
    next: null,
  });
});

it("a page with an unknown row or revision is incomplete", () => {
  const known = page(row("a", 30));
  expect(completePage(known, { ...page(), unchanged: [{ index: 0, id: "b", rev: 0 }] })).toBeNull();
  expect(completePage(known, { ...page(), unchanged: [{ index: 0, id: "a", rev: 1 }] })).toBeNull();
});

it("an incomplete page is requested whole", async () => {
  const whole = page(row("late", 5));
  const requested: (string | undefined)[] = [];
  const request = async (since?: string): Promise<StreamPage> => {
    requested.push(since);
    if (requested.length === 1) return page(row("a", 30), row("b", 40));
    return since === undefined ? whole : { ...page(), unchanged: [{ index: 0, id: "late", rev: 0 }] };
  };
  await requestPage("page", request);
  expect(await requestPage("page", request)).toEqual(whole);
  expect(requested).toEqual([undefined, "40", undefined]);
});

it("the number of earlier responses is bounded", () => {
  const responses = new EarlierResponses<number>();
  for (let n = 0; n < 100; n += 1) responses.set(String(n), n);
  expect([responses.get("99"), responses.get("0")]).toEqual([99, undefined]);
});
