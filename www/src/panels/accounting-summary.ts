/** The collector's books in; what came of all that was sent, and what is amiss with it, out. */
import type { Accounting } from "../api/api-types";
import { count, humanize, percent, plural } from "../format";

export interface CountRow {
  name: string;
  count: number;
  /** What it means, where the name does not say it. */
  meaning?: string;
}

export interface CountTable {
  title: string;
  /** What all entries together must be. */
  total: CountRow;
  rows: CountRow[];
}

/** Three sums that anyone can check, each with its parts. */
export function accountingTables({ beacons, reports, streams, probe_dropped }: Accounting): CountTable[] {
  const refused = countRows(beacons.refused).map(({ name, ...rest }) => ({ name: `refused: ${name}`, ...rest }));
  const became = countRows(reports.became);
  const lost = countRows(probe_dropped);
  return [
    {
      title: "Requests",
      total: { name: "received", count: beacons.received },
      rows: [
        { name: "accepted", count: beacons.accepted },
        ...unlessZero({ name: "asked first (preflight)", count: beacons.preflights }),
        ...unlessZero({ name: "outside the site's sample", count: beacons.sampled_out }),
        ...refused,
        ...unlessZero({ name: "under way", count: beacons.under_way }),
      ],
    },
    {
      title: "Reports in them",
      total: { name: "received", count: reports.received },
      rows: [
        ...became.map((entry) => ({ ...entry, meaning: RESULT_MEANINGS[entry.name] })),
        ...unlessZero({ name: "unexplained", count: reports.unexplained }),
      ],
    },
    {
      title: "Streams",
      total: { name: "reported", count: streams.new },
      rows: [
        { name: "counted", count: streams.counted },
        { name: "still open", count: streams.open },
      ],
    },
    ...(lost.length > 0
      ? [
          {
            title: "Reports that never came",
            total: { name: "dropped by probes", count: sumOf(probe_dropped) },
            rows: lost,
          },
        ]
      : []),
  ];
}

/** One sentence about all of it. */
export function accountingSummary({ beacons, reports, streams, probe_dropped }: Accounting): string {
  const lost = sumOf(probe_dropped);
  const refused = sumOf(beacons.refused);
  const taken = `${plural(reports.received, "report")} of ${plural(streams.new, "stream")}`;
  const away = refused === 0 ? "no request" : `${count(refused)} of ${plural(beacons.received, "request")}`;
  const unsent = lost === 0 ? "" : `; probes say that ${plural(lost, "report")} never left them`;
  return `Since it began, this collector has taken ${taken} and refused ${away}${unsent}.`;
}

/** What the figures above do not show, so much of it that they may mislead; nothing when all is well. */
export function accountingWarnings(accounting: Accounting): string[] {
  const { beacons, reports, streams, probe_dropped } = accounting;
  const warnings: string[] = [];
  if (reports.unexplained !== 0 || streams.open < 0 || beacons.under_way < 0)
    warnings.push("The books do not balance: what came in is not what was counted.");
  // Wanted ones are not missing from the figures.
  const unwanted = Object.entries(beacons.refused).filter(([code]) => !FILTER_REASONS.has(code));
  const missed = Object.fromEntries(unwanted);
  const refused = sumOf(missed);
  if (isSignificant(refused, beacons.received)) {
    const [most] = countRows(missed);
    const why = most ? `, most for “${most.name}”` : "";
    const share = percent(refused / beacons.received);
    warnings.push(`Of all requests since this collector began, ${share} were refused${why}.`);
  }
  const lost = sumOf(probe_dropped);
  if (isSignificant(lost, reports.received + lost))
    warnings.push(`Of all reports, ${percent(lost / (reports.received + lost))} never left the pages.`);
  const damaged = reports.became["unreadable"] ?? 0;
  if (damaged > 0) warnings.push(`${plural(damaged, "report")} in the journal could not be read any more.`);
  return warnings;
}

/** Refusals that the configuration asks for, by `filters`. */
const FILTER_REASONS: ReadonlySet<string> = new Set(["filtered_bot", "filtered_prerender", "filtered_test"]);

const RESULT_MEANINGS: Record<string, string> = {
  new: "of a stream not heard of before",
  revised: "took the place of an earlier one",
  duplicate: "sent twice, counted once",
  stale: "a later one was there already",
  late: "what it replaces is no longer kept",
  unreadable: "damaged in the journal",
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

/** A handful is a visitor with a wrong address, not a hole in the figures: unless it is all there is. */
function isSignificant(part: number, all: number): boolean {
  return (part >= 10 || part === all) && part / all >= MIN_SHARE;
}

const MIN_SHARE = 0.01;
