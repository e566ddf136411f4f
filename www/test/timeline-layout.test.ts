import { describe, expect, it } from "vitest";

import type { StreamReport } from "../src/api/api-types";
import { hasLongTail, layoutTimeline } from "../src/stream/timeline-layout";

const REPORT: StreamReport = {
  v: 1,
  id: "9f86d081884c7d659a2feaa0c55ad015",
  outcome: "complete",
  submit_delay_ms: 100,
  headers_ms: 40,
  ttft_ms: 400,
  ttfv_ms: 400,
  e2e_ms: 890,
  close_ms: 900,
  chunks: 5,
  events: 6,
  deltas: 4,
  bytes: 1840,
  server: { source: "comment", queue_ms: 10, ttft_ms: 300, generation_ms: 480 },
  site: "demo",
  received_ms: 0,
  country: "unknown",
};

const rowOf = (report: StreamReport, name: string, span: "whole" | "first" = "whole") =>
  layoutTimeline(report, span).moments.find((row) => row.name === name);

describe("the timeline of a stream", () => {
  it("starts at the user's action and ends with the stream", () => {
    const { from, to } = layoutTimeline(REPORT, "whole");
    expect([from, to]).toEqual([-100, 900]);
  });

  it("draws each moment from the previous one", () => {
    expect(rowOf(REPORT, "first token")).toEqual({
      name: "first token",
      at: 400,
      sincePrevious: 360,
      bar: { from: 0.14, to: 0.5 },
      kind: "wait",
    });
  });

  it("lists an invisible moment without a position", () => {
    expect(rowOf(REPORT, "first paint")).toMatchObject({ at: null, sincePrevious: null, bar: null });
  });

  it("measures across an invisible moment", () => {
    expect(rowOf(REPORT, "last token")?.sincePrevious).toBe(490);
  });

  it("draws each mark of the app from the request", () => {
    const marks = [{ name: "retrieval", at_ms: 150 }, { name: "shown", at_ms: 1900 }];
    const { marks: rows, to } = layoutTimeline({ ...REPORT, marks }, "whole");
    expect(to).toBe(1900);
    expect(rows).toEqual([
      { name: "retrieval", ms: 150, bar: { from: 0.05, to: 0.125 } },
      { name: "shown", ms: 1900, bar: { from: 0.05, to: 1 } },
    ]);
    expect(layoutTimeline(REPORT, "whole").marks).toEqual([]);
  });

  it("draws the steps in which text came from the first byte on", () => {
    const arrivals = "3z0i";
    const of = (report: StreamReport, span: "whole" | "first") =>
      layoutTimeline(report, span).arrivals.map(({ bar, share }) => [bar.from, share]);
    const report = { ...REPORT, first_byte_ms: 400, arrivals };
    expect(of(report, "whole")).toEqual([[0.5, 1], [0.58, 0], [0.66, 18 / 35]]);
    expect(of(report, "first")).toHaveLength(2);
    expect(of({ ...REPORT, arrivals }, "whole")).toEqual([]);
  });

  it("starts server durations at the request", () => {
    const { server, overhead } = layoutTimeline(REPORT, "whole");
    expect(server.map(({ name, bar }) => [name, bar.from, bar.to])).toEqual([
      ["queue", 0.1, 0.11],
      ["TTFT", 0.1, 0.4],
      ["generation", 0.4, 0.88],
    ]);
    expect(overhead).toEqual({ ms: 100, bar: { from: 0.4, to: 0.5 } });
  });

  it("has no overhead without both sides", () => {
    expect(layoutTimeline({ ...REPORT, server: undefined }, "whole").overhead).toBeNull();
    expect(layoutTimeline({ ...REPORT, ttft_ms: undefined }, "whole").overhead).toBeNull();
  });

  it("ends the zoom shortly after the first text", () => {
    expect(layoutTimeline(REPORT, "first").to).toBeCloseTo(520);
    expect(rowOf(REPORT, "closed", "first")?.bar?.to).toBe(1);
  });

  it("has an axis for a stream without content", () => {
    const bare: StreamReport = {
      v: 1,
      id: "0",
      outcome: "network_error",
      chunks: 0,
      events: 0,
      deltas: 0,
      bytes: 0,
      site: "demo",
      received_ms: 0,
      country: "unknown",
    };
    const { from, to, moments } = layoutTimeline(bare, "first");
    expect(to).toBeGreaterThan(from);
    expect(moments.filter((row) => row.at !== null).map((row) => row.name)).toEqual(["request"]);
  });

  it("offers the zoom only if it shows more", () => {
    expect(hasLongTail(REPORT)).toBe(true);
    expect(hasLongTail({ ...REPORT, e2e_ms: 410, close_ms: 420 })).toBe(false);
    expect(hasLongTail({ ...REPORT, ttft_ms: undefined, ttfv_ms: undefined })).toBe(false);
  });
});

describe("the durations below the moments", () => {
  const from0 = { ...REPORT, submit_delay_ms: undefined };

  it("place consecutive phases before the headers", () => {
    const network_timing = { dns_ms: 9, connect_ms: 0, tls_ms: 18, wait_ms: 9 };
    const { network, isReused } = layoutTimeline({ ...from0, headers_ms: 45, network_timing }, "whole");
    expect(network.map(({ name, bar }) => [name, +bar.from.toFixed(3), +bar.to.toFixed(3)])).toEqual([
      ["DNS", 0.01, 0.02],
      ["TLS", 0.02, 0.04],
      ["wait", 0.04, 0.05],
    ]);
    expect(isReused).toBe(false);
  });

  it("detect a reused connection only from known phases", () => {
    const network_timing = { dns_ms: 0, connect_ms: 0, tls_ms: 0, wait_ms: 9 };
    expect(layoutTimeline({ ...from0, network_timing }, "whole").isReused).toBe(true);
    expect(layoutTimeline({ ...from0, network_timing: { wait_ms: 9 } }, "whole").isReused).toBeNull();
    expect(layoutTimeline(from0, "whole")).toMatchObject({ network: [], isReused: null, endDelay: null });
  });

  it("end the delay of the end at the close", () => {
    const { endDelay } = layoutTimeline({ ...from0, page_lifecycle: { end_delay_ms: 90 } }, "whole");
    expect(endDelay).toMatchObject({ ms: 90, bar: { from: 0.9, to: 1 } });
  });
});
