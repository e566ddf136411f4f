/** Output tokens per second of a stream over time, with the speeds at which people read. */
import { useMemo } from "preact/hooks";

import type { Result } from "../api/async-result";
import { METRIC_LABELS } from "../api/metrics";
import type { Timeseries, TimeseriesPoint } from "../api/schemas";
import { earlierLines, earlierReadout, type EarlierLine } from "../charts/earlier";
import { Figure, LoadError } from "../charts/figure";
import { Legend, LineChart, type Readout } from "../charts/line-chart";
import type { PlotSpec } from "../charts/plot";
import { count, dateTime, isKnown, percent, rate, timeInterval } from "../format";
import { hasFewSamples } from "../metric";
import { zoomTo } from "../state";

const { title: TITLE, meaning: MEANING } = METRIC_LABELS.output_rate;

/** A low rate is slow, so the slow end has the low percentiles. */
const LINES = [
  { label: "p50", key: "p50_output_tokens_per_second", colour: "p50" },
  { label: "slowest 5 %", key: "p5_output_tokens_per_second", colour: "p95" },
] as const;

const EARLIER: readonly EarlierLine<(typeof LINES)[number]["key"]>[] = [
  { label: "earlier p50", key: "p50_output_tokens_per_second", colour: "earlier-p50" },
  { label: "earlier slowest 5 %", key: "p5_output_tokens_per_second", colour: "earlier-p95" },
];

export function OutputSpeed({ result }: { result: Result<Timeseries> }) {
  if (result.kind === "known") return <SpeedFigure series={result.value} />;
  return (
    <Figure chart="speed" title={TITLE}>
      <LoadError message={result.message} />
    </Figure>
  );
}

function SpeedFigure({ series }: { series: Timeseries }) {
  const spec = useMemo(() => plotOf(series), [series]);
  const { points, to } = series;
  const isEmpty = points.every(({ n }) => !n);
  return (
    <Figure
      chart="speed"
      title={TITLE}
      meaning={MEANING}
      caption={isEmpty ? "No stream has a token count of its provider." : caption(points)}
      table={{
        columns: ["Time", "n", ...LINES.map(({ label }) => label), ...speedsOf(points).map(belowLabel)],
        rows: () => points.map((point) => tableRow(point, to)).reverse(),
      }}
    >
      <Legend
        entries={[
          ...LINES,
          ...(series.earlier ? EARLIER : []),
          { label: "reading speed", colour: "target" },
          { label: "streams with tokens", colour: "volume" },
        ]}
      />
      <div class="plot-frame">
        <LineChart
          spec={spec}
          label={`${TITLE} of a stream, with reading speeds`}
          readout={(index) => readoutOf(series, index)}
          onBrush={zoomTo}
        />
      </div>
    </Figure>
  );
}

function plotOf({ points, earlier, step_ms: step, from, to }: Timeseries): PlotSpec {
  return {
    times: points.map((point) => point.timestamp_ms + step / 2),
    from,
    to: Math.max(to, (points.at(-1)?.timestamp_ms ?? 0) + step),
    scale: "log",
    lines: [
      ...earlierLines(earlier, EARLIER),
      ...LINES.map(({ label, key, colour }) => ({
        label,
        colour: `--${colour}`,
        values: points.map((point) => point[key] ?? null),
        width: 1.75,
      })),
    ],
    targets: speedsOf(points).map((speed) => ({
      label: `${speed}/s`,
      short: `${speed}/s`,
      colour: "--muted",
      value: speed,
    })),
    isLowSample: points.map(({ n }) => hasFewSamples(n)),
    volume: { streams: points.map(({ n }) => n ?? null), errors: points.map(() => 0), isRunning: false },
    format: (value) => `${value}/s`,
  };
}

const speedsOf = (points: readonly TimeseriesPoint[]): number[] =>
  points[0]?.below_reading_speed?.map(({ output_tokens_per_second: speed }) => speed) ?? [];

const belowLabel = (speed: number): string => `below ${speed}/s`;

function caption(points: readonly TimeseriesPoint[]): string {
  const shares = speedsOf(points).map((speed, at) => {
    const counts = points.flatMap(({ below_reading_speed: below }) => below?.[at] ?? []);
    const total = counts.reduce((sum, { total }) => sum + total, 0);
    const slow = counts.reduce((sum, { count: n }) => sum + n, 0);
    return `${percent(total > 0 ? slow / total : null)} below ${speed}/s`;
  });
  return `Slower than people read: ${shares.join(", ")}.`;
}

function readoutOf({ points, earlier, step_ms, to }: Timeseries, index: number): Readout | null {
  const point = points[index];
  if (!point) return null;
  return {
    heading: timeInterval(point.timestamp_ms, step_ms, to),
    values: [
      ...LINES.map(({ label, key, colour }) => ({ label, text: rate(point[key]), colour })),
      ...earlierReadout(earlier?.[index], EARLIER, rate),
      ...(point.below_reading_speed ?? []).map((below) => ({
        label: belowLabel(below.output_tokens_per_second),
        text: percent(below.ratio),
      })),
      { label: "streams with tokens", text: count(point.n) },
    ],
  };
}

function tableRow(point: TimeseriesPoint, today: number): string[] {
  const rates = LINES.map(({ key }) => (isKnown(point[key]) ? rate(point[key]) : ""));
  const shares = (point.below_reading_speed ?? []).map(({ ratio }) => percent(ratio));
  return [dateTime(point.timestamp_ms, today), count(point.n), ...rates, ...shares];
}
