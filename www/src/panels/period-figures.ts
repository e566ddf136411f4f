/** The figures of a range beside those of the comparison period, as text. */
import type { Quantiles, Summary } from "../api/api-types";
import { GLOSSARY } from "../api/glossary";
import { METRIC_LABELS } from "../api/metrics";
import type { Difference, Differences, Ratio } from "../api/schemas";
import {
  columnDuration,
  count,
  countChange,
  durationChange,
  heading,
  intervalText,
  isKnown,
  percent,
  percentagePoints,
} from "../format";
import { MIN_SAMPLES } from "../metric";
import type { ChangeProps } from "./change";
import { signedDuration, signedPoints } from "./release-text";

export interface PeriodFigure {
  label: string;
  meaning: string;
  now: Figure;
  earlier: Figure;
  /** `null` if it is unknown, or if one of the periods has too few samples. */
  change: string | null;
  /** The change with its interval, where the collector computes one. */
  difference?: ChangeProps;
}

interface Figure {
  text: string;
  /** Confidence interval; `null` with many samples, and where the collector gives none. */
  interval: string | null;
}

const PERCENTILES = [
  { metric: "ttfv", names: ["p50", "p95", "p99"] },
  { metric: "e2e", names: ["p50", "p95"] },
  { metric: "tpot", names: ["p50", "p95"] },
  { metric: "inter_chunk_latency", names: ["p99"] },
] as const;
const RATIOS = [
  { key: "availability", term: "availability" },
  { key: "integrity", term: "streaming integrity" },
  { key: "goodput", term: "goodput" },
] as const;

/** `length` is that of the range, relative to the earlier period. */
export function periodFigures(now: Summary, earlier: Summary, length: number): PeriodFigure[] {
  const abandoned = ({ ttfv }: Summary) => ttfv.km_adjusted?.abandoned;
  const { differences } = now.previous;
  return [
    ...PERCENTILES.flatMap(({ metric, names }) => {
      const { short, meaning } = METRIC_LABELS[metric];
      return names.map((name) => ({
        ...percentileFigure(now[metric], earlier[metric], name, short, meaning),
        ...withInterval(differences[`${metric}_${name}_ms` as keyof Differences], signedDuration, false),
      }));
    }),
    ...RATIOS.map(({ key, term }) => ({
      ...ratioFigure(now[key], earlier[key], term),
      ...withInterval(differences[key], signedPoints, true),
    })),
    countFigure(now.streams, earlier.streams, length, "Streams", GLOSSARY.stream),
    countFigure(abandoned(now), abandoned(earlier), length, "Abandoned streams", GLOSSARY["abandoned stream"]),
  ];
}

function withInterval(
  difference: Difference | null | undefined,
  format: ChangeProps["format"],
  higherIsBetter: boolean,
): Pick<PeriodFigure, "difference"> {
  return difference ? { difference: { difference, format, higherIsBetter } } : {};
}

function percentileFigure(
  now: Quantiles,
  earlier: Quantiles,
  name: "p50" | "p95" | "p99",
  short: string,
  meaning: string,
): PeriodFigure {
  const key = `${name}_ms` as const;
  const figure = ({ [key]: value, intervals }: Quantiles): Figure => ({
    text: columnDuration(value),
    interval: intervalText(intervals?.[name]),
  });
  const change = hasEnough(now.n, earlier.n) ? durationChange(now[key], earlier[key]) : null;
  return { label: `${short} ${name}`, meaning, now: figure(now), earlier: figure(earlier), change };
}

function ratioFigure(now: Ratio, earlier: Ratio, term: keyof typeof GLOSSARY): PeriodFigure {
  const figure = ({ ratio }: Ratio): Figure => ({ text: percent(ratio), interval: null });
  const change = hasEnough(now.total, earlier.total) ? percentagePoints(now.ratio, earlier.ratio) : null;
  return { label: heading(term), meaning: GLOSSARY[term], now: figure(now), earlier: figure(earlier), change };
}

function countFigure(
  now: number | undefined,
  earlier: number | undefined,
  length: number,
  label: string,
  meaning: string,
): PeriodFigure {
  const figure = (value: number | undefined): Figure => ({ text: count(value), interval: null });
  const isComparable = isKnown(now) && isKnown(earlier) && hasEnough(now, earlier);
  const change = isComparable ? countChange(now / length, earlier) : null;
  return { label, meaning, now: figure(now), earlier: figure(earlier), change };
}

const hasEnough = (now: number, earlier: number): boolean => now >= MIN_SAMPLES && earlier >= MIN_SAMPLES;
