import { expect, it } from "vitest";

import type { Accounting } from "../src/api/api-types";
import { accountingSummary, accountingTables, accountingWarnings } from "../src/panels/accounting-summary";

const plain = (text: string) => text.replaceAll("\u00a0", " ");

function books(change: Partial<Accounting> = {}): Accounting {
  return {
    beacons: { received: 1005, accepted: 1000, preflights: 0, sampled_out: 0, refused: { bad_field: 5 }, under_way: 0 },
    reports: { received: 2000, became: { new: 1900, revised: 100 }, unexplained: 0, sampled_out: 0 },
    streams: { new: 1900, counted: 1898, open: 2 },
    probe_dropped: {},
    probe_cost: { timed_chunks: 0 },
    ignored_fields: {},
    refused_connections: 0,
    ...change,
  };
}

it("each sum has parts that make it up", () => {
  for (const { total, rows } of accountingTables(books()))
    expect(rows.reduce((all, { count }) => all + count, 0)).toBe(total.count);
});

it("the line at the foot says what came and what was refused", () => {
  expect(accountingSummary(books())).toBe(
    "Since it began, this collector has taken 2,000 reports of 1,900 streams and refused 5 of 1,005 requests.",
  );
  const lossy = books({ probe_dropped: { queue_full: 3 } });
  expect(accountingSummary(lossy)).toContain("; probes say that 3 reports never left them.");
});

it("books that balance and refuse little are quiet", () => {
  expect(accountingWarnings(books())).toEqual([]);
});

it("a report without an explanation is loud, whichever way it is missing", () => {
  for (const unexplained of [1, -1]) {
    const { reports } = books();
    expect(accountingWarnings(books({ reports: { ...reports, unexplained } }))[0]).toContain("do not balance");
  }
  expect(accountingWarnings(books({ streams: { new: 1, counted: 2, open: -1 } }))).toHaveLength(1);
});

it("what is refused or lost is told from one in a hundred on, with its commonest reason", () => {
  const { beacons } = books();
  const refusing = books({ beacons: { ...beacons, refused: { bad_field: 2, unknown_site: 20 } } });
  expect(accountingWarnings(refusing).map(plain)).toEqual([
    "Of all requests since this collector began, 2.2 % were refused, most for “unknown site”.",
  ]);
  const lossy = books({ probe_dropped: { send_failed: 100 } });
  expect(accountingWarnings(lossy).map(plain)).toEqual(["Of all reports, 4.8 % never left the pages."]);
  expect(accountingWarnings(books({ probe_dropped: { send_failed: 9 }, reports: books().reports }))).toEqual([]);
});

it("where everything is refused, that is told from the first on", () => {
  const beacons = { ...books().beacons, received: 2, accepted: 0, refused: { unknown_site: 2 } };
  expect(accountingWarnings(books({ beacons })).map(plain)).toEqual([
    "Of all requests since this collector began, 100 % were refused, most for “unknown site”.",
  ]);
  const quiet = { ...beacons, received: 0, refused: {} };
  expect(accountingWarnings(books({ beacons: quiet, reports: { ...books().reports, received: 0 } }))).toEqual([]);
});

it("what the filters leave out is refused as it should be", () => {
  const { beacons } = books();
  const filtered = { filtered_bot: 300, filtered_prerender: 200, filtered_test: 100 };
  const quiet = { ...beacons, refused: { ...filtered, bad_field: 5 } };
  expect(accountingWarnings(books({ beacons: quiet }))).toEqual([]);
  const refusing = { ...beacons, refused: { ...filtered, unknown_site: 20 } };
  expect(accountingWarnings(books({ beacons: refusing })).map(plain)).toEqual([
    "Of all requests since this collector began, 2.0 % were refused, most for “unknown site”.",
  ]);
});

it("what the journal lost is told, however little", () => {
  const { reports } = books();
  expect(accountingWarnings(books({ reports: { ...reports, became: { new: 1999, unreadable: 1 } } }))).toHaveLength(1);
});
