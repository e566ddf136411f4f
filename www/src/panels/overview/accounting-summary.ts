/** Model of the ingest accounting: tables, summary and warnings. */
import type { Accounting } from "../../api/api-types";
import { count, humanize, percent, plural } from "../../format";

export interface CountRow {
  name: string;
  count: number;
  /** Meaning, if the name does not explain it. */
  meaning?: string;
}

export interface CountTable {
  title: string;
  /** The rows must add up to it. */
  total: CountRow;
  rows: CountRow[];
}

/** Tables whose rows add up to a total. */
export function accountingTables({ beacons, reports, streams, probe_dropped }: Accounting): CountTable[] {
  const refused = countRows(beacons.refused).map(({ name, ...rest }) => ({ name: `rejected: ${name}`, ...rest }));
  const results = countRows(reports.by_result);
  const lost = countRows(probe_dropped);
  return [
    {
      title: "Requests",
      total: { name: "received", count: beacons.received },
      rows: [
        { name: "accepted", count: beacons.accepted },
        ...unlessZero({ name: "CORS preflight", count: beacons.preflights }),
        ...unlessZero({ name: "outside the site's sample rate", count: beacons.sampled_out }),
        ...refused,
        ...unlessZero({ name: "in flight", count: beacons.in_flight }),
      ],
    },
    {
      title: "Reports",
      total: { name: "received", count: reports.received },
      rows: [
        ...results.map((entry) => ({ ...entry, meaning: RESULT_MEANINGS[entry.name] })),
        ...unlessZero({ name: "unaccounted", count: reports.unaccounted }),
      ],
    },
    {
      title: "Streams",
      total: { name: "reported", count: streams.new },
      rows: [
        { name: "finalized", count: streams.counted },
        { name: "open", count: streams.open },
      ],
    },
    ...(lost.length > 0
      ? [
          {
            title: "Reports dropped in the browser",
            total: { name: "dropped", count: sumOf(probe_dropped) },
            rows: lost,
          },
        ]
      : []),
  ];
}

/** The accounting in one sentence. */
export function accountingSummary({ beacons, reports, streams, probe_dropped }: Accounting): string {
  const lost = sumOf(probe_dropped);
  const refused = sumOf(beacons.refused);
  const received = `${plural(reports.received, "report")} received (${plural(streams.new, "stream")})`;
  const rejected = `${count(refused)} of ${plural(beacons.received, "request")} rejected`;
  const dropped = lost === 0 ? "" : `, ${plural(lost, "report")} dropped in the browser`;
  return `In total: ${received}, ${rejected}${dropped}.`;
}

/** Warnings if so many reports are missing that the figures can mislead. Empty if all is well. */
export function accountingWarnings(accounting: Accounting): string[] {
  const { beacons, reports, streams, probe_dropped } = accounting;
  const warnings: string[] = [];
  if (reports.unaccounted !== 0 || streams.open < 0 || beacons.in_flight < 0)
    warnings.push("Data-integrity warning: received and counted totals differ.");
  // Requests that the configured filters reject are not missing from the figures.
  const unwanted = Object.entries(beacons.refused).filter(([code]) => !FILTER_REASONS.has(code));
  const missed = Object.fromEntries(unwanted);
  const refused = sumOf(missed);
  if (isSignificant(refused, beacons.received)) {
    const [most] = countRows(missed);
    const why = most ? ` (main reason: ${most.name})` : "";
    const share = percent(refused / beacons.received);
    warnings.push(`${share} of all requests were rejected${why}.`);
  }
  const lost = sumOf(probe_dropped);
  if (isSignificant(lost, reports.received + lost))
    warnings.push(`${percent(lost / (reports.received + lost))} of all reports were dropped in the browser.`);
  const damaged = reports.by_result["unreadable"] ?? 0;
  if (damaged > 0) warnings.push(`${plural(damaged, "unreadable report")} in the journal.`);
  return warnings;
}

/** Rejections by the configured `filters`. */
const FILTER_REASONS: ReadonlySet<string> = new Set(["filtered_bot", "filtered_prerender", "filtered_test"]);

const RESULT_MEANINGS: Record<string, string> = {
  new: "new stream",
  revised: "update of an existing stream",
  duplicate: "received twice, counted once",
  stale: "outdated, ignored",
  late: "too late to replace the counted one",
  other_site: "stream of another site, ignored",
  unreadable: "damaged in the journal",
  deleted: "new stream, deleted since",
};

function countRows(counts: Record<string, number>): CountRow[] {
  return Object.entries(counts)
    .filter(([, n]) => n !== 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, n]) => ({ name: humanize(name), count: n }));
}

function unlessZero(entry: CountRow): CountRow[] {
  return entry.count === 0 ? [] : [entry];
}

function sumOf(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, n) => sum + n, 0);
}

/**
 * A few rejected requests can come from one wrong address: warn from 1 % and 10 requests on, or if all were rejected.
 */
function isSignificant(part: number, all: number): boolean {
  return (part >= 10 || part === all) && part / all >= MIN_SHARE;
}

const MIN_SHARE = 0.01;
