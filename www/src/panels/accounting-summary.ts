/** The collector's books in; what came of all that was sent, and what is amiss with it, out. */
import type { Accounting } from "../api/api-types";
import { count, percent, plural, humanize } from "../format";

export interface Entry {
  name: string;
  count: number;
  /** What it means, where the name does not say it. */
  about?: string;
}

export interface Page {
  title: string;
  /** What all entries together must be. */
  sum: Entry;
  entries: Entry[];
}

/** Three sums that anyone can check, each with its parts. */
export function pagesOf({ beacons, reports, streams, probe_dropped }: Accounting): Page[] {
  const refused = entries(beacons.refused).map(({ name, ...rest }) => ({ name: `refused: ${name}`, ...rest }));
  const became = entries(reports.became);
  const lost = entries(probe_dropped);
  return [
    {
      title: "Requests",
      sum: { name: "received", count: beacons.received },
      entries: [
        { name: "accepted", count: beacons.accepted },
        ...seen({ name: "asked first (preflight)", count: beacons.preflights }),
        ...seen({ name: "outside the site's sample", count: beacons.sampled_out }),
        ...refused,
        ...seen({ name: "under way", count: beacons.under_way }),
      ],
    },
    {
      title: "Reports in them",
      sum: { name: "received", count: reports.received },
      entries: [
        ...became.map((entry) => ({ ...entry, about: FATES[entry.name] })),
        ...seen({ name: "unexplained", count: reports.unexplained }),
      ],
    },
    {
      title: "Streams",
      sum: { name: "reported", count: streams.new },
      entries: [
        { name: "counted", count: streams.counted },
        { name: "still open", count: streams.open },
      ],
    },
    ...(lost.length > 0
      ? [
          {
            title: "Reports that never came",
            sum: { name: "dropped by probes", count: total(probe_dropped) },
            entries: lost,
          },
        ]
      : []),
  ];
}

/** One sentence about all of it. */
export function readBooks({ beacons, reports, streams, probe_dropped }: Accounting): string {
  const lost = total(probe_dropped);
  const refused = total(beacons.refused);
  const taken = `${plural(reports.received, "report")} of ${plural(streams.new, "stream")}`;
  const away = refused === 0 ? "no request" : `${count(refused)} of ${plural(beacons.received, "request")}`;
  const unsent = lost === 0 ? "" : `; probes say that ${plural(lost, "report")} never left them`;
  return `Since it began, this collector has taken ${taken} and refused ${away}${unsent}.`;
}

/** What the figures above do not show, so much of it that they may mislead; nothing when all is well. */
export function troublesOf(books: Accounting): string[] {
  const { beacons, reports, streams, probe_dropped } = books;
  const troubles: string[] = [];
  if (reports.unexplained !== 0 || streams.open < 0 || beacons.under_way < 0)
    troubles.push("The books do not balance: what came in is not what was counted.");
  // Wanted ones are not missing from the figures.
  const unwanted = Object.entries(beacons.refused).filter(([code]) => !WANTED.has(code));
  const missed = Object.fromEntries(unwanted);
  const refused = total(missed);
  if (isMuch(refused, beacons.received)) {
    const [most] = entries(missed);
    const why = most ? `, most for “${most.name}”` : "";
    const share = percent(refused / beacons.received);
    troubles.push(`Of all requests since this collector began, ${share} were refused${why}.`);
  }
  const lost = total(probe_dropped);
  if (isMuch(lost, reports.received + lost))
    troubles.push(`Of all reports, ${percent(lost / (reports.received + lost))} never left the pages.`);
  const damaged = reports.became["unreadable"] ?? 0;
  if (damaged > 0) troubles.push(`${plural(damaged, "report")} in the journal could not be read any more.`);
  return troubles;
}

/** Refusals that the configuration asks for, by `filters`. */
const WANTED: ReadonlySet<string> = new Set(["filtered_bot", "filtered_prerender", "filtered_test"]);

const FATES: Record<string, string> = {
  new: "of a stream not heard of before",
  revised: "took the place of an earlier one",
  duplicate: "sent twice, counted once",
  stale: "a later one was there already",
  late: "what it replaces is no longer kept",
  unreadable: "damaged in the journal",
};

function entries(counts: Record<string, number>): Entry[] {
  return Object.entries(counts)
    .filter(([, held]) => held !== 0)
    .sort(([, a], [, b]) => b - a)
    .map(([name, held]) => ({ name: humanize(name), count: held }));
}

function seen(entry: Entry): Entry[] {
  return entry.count === 0 ? [] : [entry];
}

function total(counts: Record<string, number>): number {
  return Object.values(counts).reduce((sum, held) => sum + held, 0);
}

/** A handful is a visitor with a wrong address, not a hole in the figures: unless it is all there is. */
function isMuch(part: number, all: number): boolean {
  return (part >= 10 || part === all) && part / all >= MUCH;
}

const MUCH = 0.01;
