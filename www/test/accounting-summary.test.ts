import { expect, it } from "vitest";

import type { Accounting } from "../src/api/api-types";
import { accountingSummary, accountingTables, accountingWarnings } from "../src/panels/overview/accounting-summary";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

function accounting(change: Partial<Accounting> = {}): Accounting {
  return {
    beacons: { received: 1005, accepted: 1000, preflights: 0, sampled_out: 0, refused: { bad_field: 5 }, in_flight: 0 },
    reports: { received: 2000, by_result: { new: 1900, revised: 100 }, unaccounted: 0, sampled_out: 0 },
    streams: { new: 1900, counted: 1898, apart: {}, open: 2 },
    probe_dropped: {},
    probe_overhead: { timed_chunks: 0 },
    ignored_fields: {},
    refused_connections: 0,
    ...change,
  };
}

it("the rows of each table add up to its total", () => {
  for (const { total, rows } of accountingTables(accounting()))
    expect(rows.reduce((all, { count }) => all + count, 0)).toBe(total.count);
});

it("the summary names accepted and rejected requests", () => {
  expect(accountingSummary(accounting())).toBe(
    "In total: 2,000 reports received (1,900 streams), 5 of 1,005 requests rejected.",
  );
  const lossy = accounting({ probe_dropped: { queue_full: 3 } });
  expect(accountingSummary(lossy)).toContain(", 3 reports dropped in the browser.");
});

it("a balanced accounting has no warning", () => {
  expect(accountingWarnings(accounting())).toEqual([]);
});

it("a difference in either direction is a warning", () => {
  for (const unaccounted of [1, -1]) {
    const { reports } = accounting();
    const [warning] = accountingWarnings(accounting({ reports: { ...reports, unaccounted } }));
    expect(warning).toContain("received and counted totals differ");
  }
  expect(accountingWarnings(accounting({ streams: { new: 1, counted: 2, apart: {}, open: -1 } }))).toHaveLength(1);
});

it("losses from 1 % on are warned of, with the main reason", () => {
  const { beacons } = accounting();
  const refusing = accounting({ beacons: { ...beacons, refused: { bad_field: 2, unknown_site: 20 } } });
  expect(accountingWarnings(refusing).map(plain)).toEqual([
    "2.2 % of all requests were rejected (main reason: unknown site).",
  ]);
  const lossy = accounting({ probe_dropped: { send_failed: 100 } });
  expect(accountingWarnings(lossy).map(plain)).toEqual(["4.8 % of all reports were dropped in the browser."]);
  expect(accountingWarnings(accounting({ probe_dropped: { send_failed: 9 } }))).toEqual([]);
});

it("a collector that rejects everything warns at once", () => {
  const beacons = { ...accounting().beacons, received: 2, accepted: 0, refused: { unknown_site: 2 } };
  expect(accountingWarnings(accounting({ beacons })).map(plain)).toEqual([
    "100 % of all requests were rejected (main reason: unknown site).",
  ]);
  const quiet = { ...beacons, received: 0, refused: {} };
  const reports = { ...accounting().reports, received: 0 };
  expect(accountingWarnings(accounting({ beacons: quiet, reports }))).toEqual([]);
});

it("configured filters cause no warning", () => {
  const { beacons } = accounting();
  const filtered = { filtered_bot: 300, filtered_prerender: 200, filtered_test: 100 };
  const quiet = { ...beacons, refused: { ...filtered, bad_field: 5 } };
  expect(accountingWarnings(accounting({ beacons: quiet }))).toEqual([]);
  const refusing = { ...beacons, refused: { ...filtered, unknown_site: 20 } };
  expect(accountingWarnings(accounting({ beacons: refusing })).map(plain)).toEqual([
    "2.0 % of all requests were rejected (main reason: unknown site).",
  ]);
});

it("any damaged report in the journal is a warning", () => {
  const { reports } = accounting();
  const damaged = { ...reports, by_result: { new: 1999, unreadable: 1 } };
  expect(accountingWarnings(accounting({ reports: damaged }))).toHaveLength(1);
});
