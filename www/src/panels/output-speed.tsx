/** Output tokens per second of a stream over time, with the speeds at which people read. */
import type { Result } from "../api/async-result";
import { METRIC_LABELS } from "../api/metrics";
import type { Timeseries, TimeseriesPoint } from "../api/schemas";
import type { EarlierLine } from "../charts/earlier";
import { Loaded } from "../charts/figure";
import { TimeFigure, type TimeLine } from "../charts/time-figure";
import { percent, rate } from "../format";

const { title: TITLE, meaning: MEANING } = METRIC_LABELS.output_rate;

type Key = "p50_output_tokens_per_second" | "p5_output_tokens_per_second";

/** A low rate is slow, so the slow end has the low percentiles. */
const LINES: readonly TimeLine<Key>[] = [
  { label: "p50", key: "p50_output_tokens_per_second", colour: "p50" },
  { label: "slowest 5 %", key: "p5_output_tokens_per_second", colour: "p95" },
];

const EARLIER: readonly EarlierLine<Key>[] = [
  { label: "earlier p50", key: "p50_output_tokens_per_second", colour: "earlier-p50" },
  { label: "earlier slowest 5 %", key: "p5_output_tokens_per_second", colour: "earlier-p95" },
];

export function OutputSpeed({ result }: { result: Result<Timeseries> }) {
  return (
    <Loaded chart="speed" title={TITLE} result={result}>
      {(series) => <SpeedFigure series={series} />}
    </Loaded>
  );
}

function SpeedFigure({ series }: { series: Timeseries }) {
  const { points } = series;
  const isEmpty = points.every(({ n }) => !n);
  return (
    <TimeFigure
      chart="speed"
      title={TITLE}
      meaning={MEANING}
      caption={isEmpty ? "No stream has a token count of its provider." : caption(points)}
      series={series}
      lines={LINES}
      earlier={EARLIER}
      samples="streams with tokens"
      scale="log"
      targets={speedsOf(points).map((value) => {
        const label = tick(value);
        return { label, short: label, colour: "--muted", value };
      })}
      targetName="reading speed"
      text={rate}
      tick={tick}
      more={({ below_reading_speed: below }) =>
        (below ?? []).map(({ output_tokens_per_second: speed, ratio }) => ({
          label: `below ${tick(speed)}`,
          text: percent(ratio),
        }))
      }
    />
  );
}

const tick = (speed: number) => `${speed}/s`;

const speedsOf = (points: readonly TimeseriesPoint[]): number[] =>
  points[0]?.below_reading_speed?.map(({ output_tokens_per_second: speed }) => speed) ?? [];

function caption(points: readonly TimeseriesPoint[]): string {
  const shares = speedsOf(points).map((speed, at) => {
    const counts = points.flatMap(({ below_reading_speed: below }) => below?.[at] ?? []);
    const total = counts.reduce((sum, { total }) => sum + total, 0);
    const slow = counts.reduce((sum, { count: n }) => sum + n, 0);
    return `${percent(total > 0 ? slow / total : null)} below ${tick(speed)}`;
  });
  return `Slower than people read: ${shares.join(", ")}.`;
}
